"""Labels of 8-connected components of a binary image."""

from __future__ import annotations

import numpy as np

import trazar

from . import npp, opencv
from .images import masks
from .machine import cores
from .task import Settings, Task, same_partition

EIGHT = np.ones((3, 3), int)

task = Task("labels", "labels, 8-connected", same_partition)
task.result_bytes = lambda labels: labels.nbytes


@task.on
def inputs(settings: Settings):
    sides = settings.sides([512, 1024, 2048, 4096, 8192], [256, 512])
    yield from masks(settings, sides, 4096)


@task.program("trazar", on=("core", "cores", "gpu"))
def ours(image, settings):
    return lambda: trazar.label(image, EIGHT, device=settings.device)[0]


@task.program("OpenCV", needs=("cv2",), on=("core", "cores"))
def opencv_python(image, settings):
    import cv2

    return lambda: cv2.connectedComponents(image)[1]


@task.program("OpenCV C++", missing=opencv.missing, on=("core", "cores"), convert=opencv.labels)
def opencv_cpp(image, settings):
    return opencv.find_labels(image, 1 if settings.on == "core" else cores())


@task.program("SciPy", needs=("scipy",))
def scipy(image, settings):
    import scipy.ndimage

    return lambda: scipy.ndimage.label(image, EIGHT)[0]


@task.program("scikit-image", needs=("skimage",))
def skimage(image, settings):
    import skimage.measure

    return lambda: skimage.measure.label(image, connectivity=2)


@task.program("cc3d", needs=("cc3d",))
def cc3d(image, settings):
    import cc3d

    flags = image.astype(bool)
    return lambda: cc3d.connected_components(flags, connectivity=8)


@task.program("kornia-rs", needs=("kornia_rs",), on=("core", "cores"), convert=np.squeeze)
def kornia(image, settings):
    from kornia_rs import imgproc

    pixels = image[:, :, np.newaxis]
    return lambda: imgproc.connected_components(pixels, 8)[1]


@task.program(
    "kornia-rs",
    needs=("kornia_rs",),
    missing=npp.missing_gpu,
    on=("gpu",),
    convert=np.squeeze,
)
def kornia_on_gpu(image, settings):
    """From an array in the host's memory to one, as ours."""
    from kornia_rs import imgproc
    from kornia_rs.image import Image

    pixels = image[:, :, np.newaxis]

    def call():
        on_gpu = Image.fromarray(pixels, "L").to_cuda()
        return imgproc.connected_components(on_gpu, 8)[1].cpu().numpy()

    return call


@task.program("CuPy", needs=("cupy",), on=("gpu",))
def cupy(image, settings):
    """From an array in the host's memory to one, as ours."""
    import cupy
    import cupyx.scipy.ndimage

    return lambda: cupyx.scipy.ndimage.label(cupy.asarray(image), EIGHT)[0].get()


@task.program("cuCIM", needs=("cupy", "cucim"), on=("gpu",))
def cucim(image, settings):
    import cupy
    from cucim.skimage import measure

    return lambda: measure.label(cupy.asarray(image), connectivity=2).get()


@task.program("NPP", missing=npp.missing, on=("gpu",), convert=npp.foreground)
def npp_labels(image, settings):
    """It labels the background's regions, too, and its numbers have gaps."""
    return npp.call((image != 0).view(np.uint8), 8)


TASKS = [task]

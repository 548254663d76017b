"""``get_connected_components`` of SAM 2 by this library, in the place of SAM 2's CUDA extension.

SAM 2 (Ravi et al., *SAM 2: Segment Anything in Images and Videos*, 2024) removes small components
and fills small holes of its masks with an extension, ``sam2._C``, which is compiled when SAM 2 is
installed, and which many cannot compile. This function takes and returns the same tensors, on any
device. Before a predictor is made::

    import sam2.utils.misc
    from sam2_connected_components import get_connected_components

    sam2.utils.misc.get_connected_components = get_connected_components

Run as a script, it shows both on masks of its own, on a GPU if there is one.
"""

from __future__ import annotations

import numpy as np
import torch

import trazar


def get_connected_components(mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Label the 8-connected components of masks and count their pixels.

    Parameters
    ----------
    mask : torch.Tensor
        Of shape (N, 1, H, W); foreground is 1. On the processor or on a GPU, where the work is
        done in the current stream.

    Returns
    -------
    labels : torch.Tensor
        int32 of the same shape: 0 for background, 1, 2, ... for the components of each mask. (SAM
        2's own are not consecutive; it uses which are 0 only.)
    counts : torch.Tensor
        int32 of the same shape: at each pixel the number of its component's pixels; 0 for
        background.
    """
    images = mask.to(torch.uint8).squeeze(1)
    if images.is_cuda:
        found, _ = trazar.label_batch(images, connectivity=8)
        labels = torch.from_dlpack(found)
    else:
        found, _ = trazar.label_batch(images.numpy(), connectivity=8)
        labels = torch.from_numpy(found)
    # The pixels of each label of each image, counted where the labels are.
    count, height, width = labels.shape
    most = int(labels.max()) + 1 if labels.numel() else 1
    of_image = torch.arange(count, device=labels.device)[:, None, None] * most
    sizes = torch.bincount((labels + of_image).flatten(), minlength=count * most)
    sizes = sizes.reshape(count, most).to(torch.int32)
    sizes[:, 0] = 0
    counts = torch.gather(sizes, 1, labels.reshape(count, -1).long())
    return labels[:, None], counts.reshape(count, 1, height, width)


def main() -> None:
    rng = np.random.default_rng(0)
    masks = torch.from_numpy((rng.random((4, 1, 64, 96)) < 0.4).astype(np.uint8))
    if torch.cuda.is_available():
        masks = masks.cuda()
    labels, counts = get_connected_components(masks)
    small = (counts > 0) & (counts <= 8)
    print(f"{masks.device}: {int(labels.amax())} components at most in a mask,")
    print(f"{int(small.sum())} of {int(masks.sum())} pixels in components of up to 8 pixels")
    for mask, label, count in zip(masks.cpu().numpy(), labels.cpu(), counts.cpu()):
        expected, columns = trazar.label_stats(mask[0], connectivity=8)
        assert np.array_equal(label[0], expected)
        areas = np.concatenate([[0], columns["area"]]).astype(np.int32)
        assert np.array_equal(count[0], areas[expected])


if __name__ == "__main__":
    main()

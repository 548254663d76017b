//! GPUs that label the bands of an image for [`BandLabeller`](super::BandLabeller).
//!
//! Each worker is a thread with a queue of a GPU. It takes one band at a time: copies its bits to
//! the GPU, labels them, and copies back what the task asks for. There are two workers per GPU if
//! it has overlapping queues: while the labels of one band are copied down, the next one is copied
//! up and labelled. Bands go to the workers in turn, so results come in the order of the bands.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use super::{LabelPart, LabelTable};
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::image::BinaryImage;
use crate::image::gpu::DeviceImage;
use crate::label::cpu::Strip;
use crate::label::gpu::HostLabels;
use crate::label::{Component, DeviceLabeler, LabelOptions};
use crate::memory::{advise_large_pages, zeroed_vec};

/// A worker's task: one band.
pub(super) struct Task {
    pub(super) band: BinaryImage,
    /// The image's row at which the band begins.
    pub(super) first_row: u32,
    /// The labels to make, in the second pass.
    pub(super) labels: Option<LabelTask>,
}

/// The labels that the second pass asks for.
pub(super) struct LabelTask {
    pub(super) table: Arc<LabelTable>,
    /// The memory for the labels, with at least as many elements as the largest band has pixels. If
    /// it is empty, the worker allocates `most` elements.
    pub(super) buffer: Vec<u32>,
    pub(super) most: usize,
    /// Whether the labels get the image's numbers instead of the band's own.
    pub(super) is_final: bool,
}

/// A worker's result for a band.
pub(super) struct LabelledPart {
    pub(super) band: BinaryImage,
    /// The part; with statistics, without the measures of the components inside.
    pub(super) part: LabelPart,
    /// In the second pass, the labels of the band's pixels, and further elements.
    pub(super) labels: Vec<u32>,
    /// With statistics, the measures of all components of the band.
    pub(super) measures: Vec<Component>,
}

/// Workers and their tasks.
pub(crate) struct Workers {
    workers: Vec<Worker>,
    /// The index of the worker that gets the next task.
    next: usize,
    /// The workers that have tasks, in the order of the tasks.
    busy: VecDeque<usize>,
}

struct Worker {
    /// `None` once there are no more tasks.
    tasks: Option<Sender<Task>>,
    results: Receiver<Result<LabelledPart>>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    /// Workers on `gpus`, each with a second queue of the GPU if it supports overlapping ones.
    ///
    /// # Errors
    /// Those of [`Gpu::overlapping_queue`]; [`Error::OutOfMemory`] if the system provides no
    /// thread.
    pub(crate) fn on<G>(gpus: &[G], options: &LabelOptions) -> Result<Self>
    where
        G: Gpu + Send + Sync + 'static,
    {
        options.algorithm_on(G::BACKEND).check_runs_on(G::BACKEND)?;
        let mut queues = gpus.to_vec();
        for gpu in gpus {
            queues.extend(gpu.overlapping_queue()?);
        }
        let mut workers = Vec::with_capacity(queues.len());
        for queue in queues {
            let (tasks, received) = channel::<Task>();
            let (sender, results) = channel();
            let labeler = DeviceLabeler::on(queue);
            let options = *options;
            let serve = move || {
                // Ends when no more tasks can come, or nobody waits for results.
                while let Ok(task) = received.recv() {
                    if sender.send(do_task(&labeler, task, &options)).is_err() {
                        break;
                    }
                }
            };
            const STACK: usize = 2 << 20;
            let builder = Builder::new().name("labels".into()).stack_size(STACK);
            let thread = builder.spawn(serve).map_err(|_| Error::OutOfMemory {
                what: "a thread for a GPU",
                bytes: STACK as u64,
            })?;
            workers.push(Worker {
                tasks: Some(tasks),
                results,
                thread: Some(thread),
            });
        }
        Ok(Self {
            workers,
            next: 0,
            busy: VecDeque::new(),
        })
    }

    /// The number of workers.
    pub(super) fn len(&self) -> usize {
        self.workers.len()
    }

    /// Whether every worker has a task.
    pub(super) fn all_busy(&self) -> bool {
        self.busy.len() >= self.workers.len()
    }

    /// Gives the next worker a task.
    pub(super) fn start(&mut self, task: Task) {
        let worker = &mut self.workers[self.next];
        let sent = worker.tasks.as_ref().map(|tasks| tasks.send(task));
        if !matches!(sent, Some(Ok(()))) {
            worker.fail();
        }
        self.busy.push_back(self.next);
        self.next = (self.next + 1) % self.workers.len();
    }

    /// Waits for the result of the oldest task; `None` if there is none.
    pub(super) fn finish(&mut self) -> Option<Result<LabelledPart>> {
        let worker = &mut self.workers[self.busy.pop_front()?];
        match worker.results.recv() {
            Ok(result) => Some(result),
            Err(_) => worker.fail(),
        }
    }
}

impl Worker {
    /// Passes on the panic that has ended the thread.
    fn fail(&mut self) -> ! {
        self.tasks = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => resume_unwind(panic),
            _ => panic!("a thread that labels has ended before its tasks"),
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.tasks = None;
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                // A panic was passed on where its result was awaited, or concerns nobody.
                let _ = thread.join();
            }
        }
    }
}

/// Labels a band.
fn do_task<G: Gpu>(
    labeler: &DeviceLabeler<G>,
    task: Task,
    options: &LabelOptions,
) -> Result<LabelledPart> {
    let Task {
        band,
        first_row,
        labels: wanted,
    } = task;
    let image = DeviceImage::upload(labeler.gpu(), &band)?;
    let (mut on_device, part, measures) = labeler.label_rows(&image, first_row, options, false)?;
    let mut labels = Vec::new();
    if let Some(wanted) = wanted {
        labels = wanted.buffer;
        let is_new = labels.is_empty();
        if is_new {
            labels = zeroed_vec(wanted.most, "labels")?;
            advise_large_pages(&mut labels);
        }
        let rows = Strip::whole(&band);
        let to = HostLabels {
            labels: &mut labels[..band.pixel_count() as usize],
            is_zero: is_new,
        };
        // A band that differs from the first pass has no place in the table; the caller compares
        // the numbers of components and reports it.
        if wanted.is_final && wanted.table.matches(&part) {
            let finished = labeler.finish_part(on_device, &wanted.table)?;
            labeler.read_labels(finished.labels(), &image, &rows, to)?;
        } else {
            labeler.read_labels(on_device.own_labels()?, &image, &rows, to)?;
        }
    }
    Ok(LabelledPart {
        band,
        part,
        labels,
        measures,
    })
}

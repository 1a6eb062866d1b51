//! Divides work among threads that end before the call does.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Beyond this many threads memory and disk are the limit, not cores.
const MAX_THREADS: usize = 8;

/// How many threads `requested` means: 0 takes the cores this process may run on, up to 8.
pub(crate) fn thread_count(requested: usize) -> usize {
    match requested {
        0 => thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS),
        count => count,
    }
}

/// Runs `work` for every index below `count` on up to `threads` threads. Results are in the order of the indices.
///
/// # Errors
/// The first error that a thread met; no new work is begun after it.
pub(crate) fn map<T: Send, E: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count)
            .map(|index| work(index).inspect(|_| prl_progress::made()))
            .collect();
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let failure = Mutex::new(None);
    let share = prl_progress::share();
    let run = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            match share.part(|| work(index)) {
                Ok(value) => {
                    share.part(prl_progress::made);
                    done.push((index, value));
                }
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    failure.lock().expect("no thread panics with it").get_or_insert(error);
                }
            }
        }
        done
    };
    let mut done: Vec<(usize, T)> = thread::scope(|scope| {
        let handles: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut all = run();
        for handle in handles {
            all.extend(handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    if let Some(error) = failure.into_inner().expect("no thread panics with it") {
        return Err(error);
    }
    done.sort_unstable_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, value)| value).collect())
}

//! Serving versions to other nodes.

use std::sync::Arc;
use std::time::Duration;

use prl_weights::request_full;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::chunk::{CHUNK_BYTES, chunk_count, is_boundary};
use crate::pb::weights_server::Weights;
use crate::pb::{AcknowledgeReply, AcknowledgeRequest, Chunk, DescribeRequest, FetchRequest, Version};
use crate::weights::replica::Replica;
use crate::weights::shelf::{Lookup, Shelf};
use crate::weights::stream::{ChunkSender, chunk_response};
use crate::{Times, TransportError};

/// Longest wait of one call for a version; a caller that wants to wait longer asks again.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);
/// Most readers at the same time.
const MAX_READERS: usize = 256;

pub(crate) struct Service {
    shelf: Arc<Shelf>,
    times: Times,
    closing: CancellationToken,
    readers: Arc<Semaphore>,
    /// Version and digest that were acknowledged last.
    acknowledged: watch::Sender<(u64, String)>,
}

impl Service {
    pub(crate) fn new(
        shelf: Arc<Shelf>,
        times: Times,
        closing: CancellationToken,
        acknowledged: watch::Sender<(u64, String)>,
    ) -> Self {
        Self {
            shelf,
            times,
            closing,
            readers: Arc::new(Semaphore::new(MAX_READERS)),
            acknowledged,
        }
    }

    async fn find(&self, request: DescribeRequest) -> Result<Option<Arc<Replica>>, Status> {
        let shelf = Arc::clone(&self.shelf);
        spawn_blocking(move || {
            let digest = request.digest.as_deref();
            // The version is looked for first: once there is a newer one, this one is either full already or will never be.
            let wanted_full = request.version.filter(|_| request.full);
            let newer = wanted_full.map_or(Ok(None), |version| shelf.published_after(version))?;
            let lookup = match request.version {
                Some(version) => Lookup::Exactly(version, digest),
                None => Lookup::Newest(request.after),
            };
            let found = shelf.find(lookup)?;
            if !request.full || !found.as_ref().is_some_and(|replica| replica.description.is_sparse()) {
                return Ok(found);
            }
            // The publisher of this root sees the request. A relay's root has no publisher; there the next source is asked.
            request_full(shelf.root())?;
            match (request.version, newer) {
                (Some(version), Some(newer)) => Err(TransportError::PassedOver(format!(
                    "weight version {version} cannot be made full, because only the newest version can, and that is {newer}: use it instead"
                ))),
                _ => Ok(None),
            }
        })
        .await
        .map_err(|join| Status::internal(join.to_string()))?
        .map_err(|error: TransportError| error.to_status())
    }
}

#[tonic::async_trait]
impl Weights for Service {
    /// Empty, because chunks are sent by `stream` instead.
    type FetchStream = tokio_stream::Empty<Result<Chunk, Status>>;

    async fn describe(&self, request: Request<DescribeRequest>) -> Result<Response<Version>, Status> {
        let request = request.into_inner();
        let wait = Duration::from_millis(request.wait_ms.into()).min(LONGEST_WAIT);
        let until = Instant::now() + wait;
        loop {
            if let Some(replica) = self.find(request.clone()).await? {
                return Ok(Response::new(replica.description.wire.clone()));
            }
            if Instant::now() >= until || self.closing.is_cancelled() {
                return Err(missing(&request).to_status());
            }
            sleep(POLL).await;
        }
    }

    async fn fetch(&self, request: Request<FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let FetchRequest {
            version,
            description,
            offsets,
        } = request.into_inner();
        let wanted = DescribeRequest {
            version: Some(version),
            ..Default::default()
        };
        let replica = self
            .find(wanted.clone())
            .await?
            .filter(|replica| replica.description.id == description)
            .ok_or_else(|| missing(&wanted).to_status())?;
        let files = replica.description.files();
        let fits = offsets.len() == files.len()
            && offsets
                .iter()
                .zip(files)
                .all(|(&offset, file)| is_boundary(offset, file.bytes));
        if !fits {
            return Err(Status::invalid_argument("the offsets do not fit the files"));
        }
        let permit = Arc::clone(&self.readers)
            .try_acquire_owned()
            .map_err(|_| Status::resource_exhausted("too many readers"))?;
        let (chunks, response) = chunk_response(tokio_stream::empty());
        let reader = Reader {
            replica,
            chunks,
            times: self.times,
            _permit: permit,
        };
        let closing = self.closing.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = reader.run(&offsets) => {}
                () = closing.cancelled() => {}
            }
        });
        Ok(response)
    }

    async fn acknowledge(&self, request: Request<AcknowledgeRequest>) -> Result<Response<AcknowledgeReply>, Status> {
        let AcknowledgeRequest { version, digest } = request.into_inner();
        self.acknowledged.send_replace((version, digest));
        Ok(Response::new(AcknowledgeReply {}))
    }
}

fn missing(request: &DescribeRequest) -> TransportError {
    let which = match (request.version, &request.digest, request.after) {
        (Some(version), Some(digest), _) => format!("version {version} of digest {digest}"),
        (Some(version), None, _) => format!("version {version}"),
        (None, _, Some(after)) => format!("version after {after}"),
        (None, _, None) => "version".to_owned(),
    };
    TransportError::Version(format!("there is no weight {which} here"))
}

/// Sends one replica to one other node.
struct Reader {
    replica: Arc<Replica>,
    chunks: ChunkSender,
    times: Times,
    _permit: OwnedSemaphorePermit,
}

impl Reader {
    async fn run(self, offsets: &[u64]) {
        let outcome = self.send_all(offsets).await;
        // A reader that has gone resumes elsewhere. One that takes nothing leaves no room for the end either, and loses its connection without it.
        let _ = timeout(self.times.stall, self.chunks.end(outcome)).await;
    }

    async fn send_all(&self, offsets: &[u64]) -> Result<(), Status> {
        for (file, &offset) in offsets.iter().enumerate() {
            let count = chunk_count(self.replica.description.files()[file].bytes);
            for chunk in offset.div_ceil(CHUNK_BYTES)..count {
                self.send(file, chunk as usize).await?;
            }
        }
        Ok(())
    }

    async fn send(&self, file: usize, chunk: usize) -> Result<(), Status> {
        match timeout(self.times.stall, self.replica.wait(file, chunk)).await {
            Ok(true) => {}
            Ok(false) => {
                let why = self.replica.why_failed();
                return Err(Status::unavailable(format!(
                    "the rest of this version will not come: {why}"
                )));
            }
            Err(_) => return Err(Status::unavailable("the rest of this version does not come here")),
        }
        let read = self
            .replica
            .read(file, chunk)
            .await
            .map_err(|error| error.to_status())?;
        // A slow reader does not slow others. A reader that takes nothing at all is given up.
        match timeout(self.times.durable, self.chunks.send(&read)).await {
            Ok(sent) => sent,
            Err(_) => Err(Status::deadline_exceeded("nothing was taken for too long")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::description::Description;
    use crate::weights::one_shard;

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_given_up() {
        let directory = tempfile::tempdir().expect("a folder");
        let bytes = vec![7; 8 * CHUNK_BYTES as usize];
        one_shard::publish(directory.path(), &bytes);
        let description = Description::of_directory(directory.path())
            .expect("read")
            .expect("a version");
        let replica = Replica::of_directory(description, directory.path()).expect("mapped");
        replica.check().expect("sound");
        let readers = Arc::new(Semaphore::new(1));
        // The response is held and never read.
        let (chunks, _response) = chunk_response(());
        let reader = Reader {
            replica: Arc::new(replica),
            chunks,
            times: Times {
                stall: Duration::from_millis(50),
                durable: Duration::from_millis(50),
                ..Times::default()
            },
            _permit: Arc::clone(&readers).try_acquire_owned().expect("free"),
        };
        timeout(Duration::from_secs(10), reader.run(&[0]))
            .await
            .expect("it ends");
        assert_eq!(readers.available_permits(), 1, "another reader has its place");
    }
}

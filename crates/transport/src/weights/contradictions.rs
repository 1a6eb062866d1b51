//! Sources that send other bytes than were published: a damaged relay does so until its check comes to the damage.

use std::fs;
use std::hash::Hasher;
use std::time::Duration;

use prl_weights::SINGLE_FILE;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_stream::Iter;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use twox_hash::XxHash3_64;

use crate::chunk::CHUNK_BYTES;
use crate::pb::weights_server::{Weights, WeightsServer};
use crate::pb::{AcknowledgeReply, AcknowledgeRequest, Chunk, DescribeRequest, FetchRequest, Version};
use crate::weights::description::Description;
use crate::weights::one_shard;
use crate::{Address, Credentials, Times, Wanted, WeightNode};

const CHUNKS: usize = 6;

/// Describes a version and sends for each call two chunks of its file, at most these bytes.
struct Source {
    described: Version,
    bytes: Vec<u8>,
}

#[tonic::async_trait]
impl Weights for Source {
    type FetchStream = Iter<std::vec::IntoIter<Result<Chunk, Status>>>;

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<Version>, Status> {
        Ok(Response::new(self.described.clone()))
    }

    async fn fetch(&self, request: Request<FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let begin = usize::try_from(request.into_inner().offsets[0]).expect("a length");
        let mut hasher = XxHash3_64::default();
        hasher.write(&self.bytes[..begin]);
        let chunks = self.bytes[begin..].chunks(CHUNK_BYTES as usize).enumerate().take(2);
        let mut sent: Vec<Result<Chunk, Status>> = chunks
            .map(|(number, data)| {
                hasher.write(data);
                Ok(Chunk {
                    file: 0,
                    offset: begin as u64 + number as u64 * CHUNK_BYTES,
                    data: data.to_vec().into(),
                    prefix_digest: hasher.finish(),
                })
            })
            .collect();
        sent.push(Err(Status::unavailable("the rest does not come")));
        Ok(Response::new(tokio_stream::iter(sent)))
    }

    async fn acknowledge(&self, _: Request<AcknowledgeRequest>) -> Result<Response<AcknowledgeReply>, Status> {
        Err(Status::unimplemented("no test asks"))
    }
}

async fn listen(described: &Version, bytes: &[u8]) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let source = Source {
        described: described.clone(),
        bytes: bytes.to_vec(),
    };
    let server = Server::builder().add_service(WeightsServer::new(source));
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    address.parse().expect("an address")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_with_wrong_bytes_does_not_keep_a_version_from_the_others() {
    let dir = tempfile::tempdir().expect("a folder");
    let published = dir.path().join("step_1");
    let bytes: Vec<u8> = (0..CHUNKS * CHUNK_BYTES as usize).map(|at| (at % 251) as u8).collect();
    one_shard::publish(&published, &bytes);
    let described = Description::of_directory(&published)
        .expect("read")
        .expect("a version")
        .wire;
    let mut other = bytes.clone();
    other[10] ^= 1;
    let right = listen(&described, &bytes).await;
    // A node does not send the last chunk of a file whose digest it found to be wrong.
    let wrong = listen(&described, &other[..5 * CHUNK_BYTES as usize]).await;
    let times = Times {
        pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(5),
        patience: Duration::from_secs(20),
        ..Times::default()
    };
    let wanted = Wanted {
        version: Some(1),
        ..Wanted::default()
    };
    for (order, sources) in [("wrong first", [&wrong, &right]), ("right first", [&right, &wrong])] {
        let root = dir.path().join(order);
        let receiver = WeightNode::new(&root, Credentials::default(), times);
        let sources = sources.map(Address::clone);
        let pulled = receiver.pull(&wanted, &sources).await.expect(order);
        assert!(
            fs::read(pulled.directory.join(SINGLE_FILE)).expect("a shard") == bytes,
            "{order}"
        );
    }
    // One that sends all of them is given up, however often it begins anew.
    let wrong = listen(&described, &other).await;
    let times = Times {
        patience: Duration::from_millis(300),
        ..times
    };
    let receiver = WeightNode::new(dir.path().join("alone"), Credentials::default(), times);
    let sources = [wrong];
    let given_up = timeout(Duration::from_secs(20), receiver.pull(&wanted, &sources)).await;
    let error = given_up.expect("it ends").expect_err("wrong bytes");
    assert_eq!(error.code(), "PRL_TRANSPORT_UNREACHABLE");
}

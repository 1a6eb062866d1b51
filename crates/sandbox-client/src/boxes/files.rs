//! Files of a held sandbox, with the rights of its user.

use std::sync::Arc;

use bytes::Bytes;
use prl_sandbox_proto::{
    Chunk, Directory, FileInfo, ListDirectoryRequest, MoveRequest, PathRequest, ReadFileRequest, RemoveRequest,
    WriteFileRequest,
};
use tokio::time::timeout;
use tonic::Streaming;

use super::sandbox_box::{Held, SandboxBox};
use crate::ClientError;
use crate::call::{QUERY_DEADLINE, Repeat, TRANSFER_DEADLINE};
use crate::connection::Connection;
use crate::outcome::{Infra, RunOutcome};

/// Bytes in one message of a written file.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;

/// The bytes of a file or an archive, as they come.
#[derive(Debug)]
pub struct FileReader {
    held: Arc<Held>,
    connection: Arc<Connection>,
    stream: Streaming<Chunk>,
}

impl FileReader {
    pub(crate) fn new(held: &Arc<Held>, connection: Arc<Connection>, stream: Streaming<Chunk>) -> Self {
        Self {
            held: Arc::clone(held),
            connection,
            stream,
        }
    }

    /// The next bytes; `None` at the end. A file that a lost connection cuts short ends with an error.
    ///
    /// # Errors
    /// As of [`SandboxBox::read`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        let reason = match timeout(TRANSFER_DEADLINE, self.stream.message()).await {
            Ok(Ok(chunk)) => return Ok(chunk.map(|chunk| chunk.data)),
            Ok(Err(status)) => match self.held.broken(&self.connection, &status) {
                Some(error) => return Err(error),
                None => status.message().to_owned(),
            },
            Err(_) => format!("no bytes within {} s", TRANSFER_DEADLINE.as_secs()),
        };
        Err(RunOutcome::infra(Infra::ConnectionLost, reason).into())
    }
}

impl SandboxBox {
    /// Streams a file from `offset` on. More than `max_bytes` (64 MiB) is refused: PRL_SANDBOX_TOO_LARGE.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn reader(&self, path: &str, offset: u64, max_bytes: Option<u64>) -> Result<FileReader, ClientError> {
        let connection = self.held.connection().await?;
        let request = ReadFileRequest {
            r#box: self.id().to_owned(),
            path: path.to_owned(),
            offset,
            max_bytes,
        };
        let stream = self
            .held
            .ask(Repeat::Safe, QUERY_DEADLINE, |mut boxes| {
                let request = request.clone();
                async move { boxes.read_file(request).await }
            })
            .await?;
        Ok(FileReader::new(&self.held, connection, stream))
    }

    /// A file from `offset` on, in memory. Bounds and errors are those of [`SandboxBox::reader`].
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn read(&self, path: &str, offset: u64, max_bytes: Option<u64>) -> Result<Vec<u8>, ClientError> {
        let mut reader = self.reader(path, offset, max_bytes).await?;
        let mut content = Vec::new();
        while let Some(bytes) = reader.next().await? {
            content.extend_from_slice(&bytes);
        }
        Ok(content)
    }

    /// Writes a file, whole or not at all; directories above it are made. `mode` 0 is 0644.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn write(&self, path: &str, content: Bytes, mode: u32) -> Result<FileInfo, ClientError> {
        self.held
            .ask(Repeat::Safe, TRANSFER_DEADLINE, |mut boxes| {
                let messages = messages(self.id(), path, mode, &content);
                async move { boxes.write_file(tokio_stream::iter(messages)).await }
            })
            .await
    }

    /// Describes the file at a path; a symbolic link is not followed.
    ///
    /// # Errors
    /// [`ClientError::Refused`]: PRL_SANDBOX_FILE_UNKNOWN, _FILE, _BOX_ENDED, _CONNECTION_LOST, _DAEMON_RESTARTED;
    /// [`ClientError::Closed`], [`ClientError::Unreachable`].
    pub async fn stat(&self, path: &str) -> Result<FileInfo, ClientError> {
        let request = self.path(path);
        self.held
            .ask(Repeat::Safe, QUERY_DEADLINE, |mut boxes| {
                let request = request.clone();
                async move { boxes.stat(request).await }
            })
            .await
    }

    /// The entries of a directory, `depth` levels deep, at most `max_entries` (10000).
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn list_directory(
        &self,
        path: &str,
        depth: u32,
        max_entries: Option<u32>,
    ) -> Result<Directory, ClientError> {
        let request = ListDirectoryRequest {
            r#box: self.id().to_owned(),
            path: path.to_owned(),
            depth,
            max_entries,
        };
        self.held
            .ask(Repeat::Safe, QUERY_DEADLINE, |mut boxes| {
                let request = request.clone();
                async move { boxes.list_directory(request).await }
            })
            .await
    }

    /// Makes a directory and those above it; an existing one is no error.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn make_directory(&self, path: &str) -> Result<FileInfo, ClientError> {
        let request = self.path(path);
        self.held
            .ask(Repeat::Safe, QUERY_DEADLINE, |mut boxes| {
                let request = request.clone();
                async move { boxes.make_directory(request).await }
            })
            .await
    }

    /// Renames a file or directory.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn rename(&self, from: &str, to: &str) -> Result<FileInfo, ClientError> {
        let request = MoveRequest {
            r#box: self.id().to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        };
        self.held
            .ask(Repeat::Once, QUERY_DEADLINE, |mut boxes| {
                let request = request.clone();
                async move { boxes.r#move(request).await }
            })
            .await
    }

    /// Removes a file, a link or a directory; one that is not empty only when `recursive`.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn remove(&self, path: &str, recursive: bool) -> Result<(), ClientError> {
        let request = RemoveRequest {
            r#box: self.id().to_owned(),
            path: path.to_owned(),
            recursive,
        };
        let asked = self.held.ask(Repeat::Once, TRANSFER_DEADLINE, |mut boxes| {
            let request = request.clone();
            async move { boxes.remove(request).await }
        });
        asked.await.map(drop)
    }

    pub(crate) fn path(&self, path: &str) -> PathRequest {
        PathRequest {
            r#box: self.id().to_owned(),
            path: path.to_owned(),
        }
    }
}

/// The messages that write a file: the first has its path, the last says that it is whole.
fn messages(id: &str, path: &str, mode: u32, content: &Bytes) -> Vec<WriteFileRequest> {
    let mut messages = vec![WriteFileRequest {
        r#box: id.to_owned(),
        path: path.to_owned(),
        mode,
        ..WriteFileRequest::default()
    }];
    for start in (0..content.len()).step_by(CHUNK_BYTES) {
        let data = content.slice(start..content.len().min(start + CHUNK_BYTES));
        match messages.last_mut().filter(|message| message.data.is_empty()) {
            Some(first) => first.data = data,
            None => messages.push(WriteFileRequest {
                data,
                ..WriteFileRequest::default()
            }),
        }
    }
    if let Some(last) = messages.last_mut() {
        last.end = true;
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_first_and_ended_last() {
        for bytes in [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
            let content = Bytes::from(vec![7; bytes]);
            let messages = messages("b", "p", 0o600, &content);
            assert_eq!(messages.len(), bytes.div_ceil(CHUNK_BYTES).max(1));
            assert_eq!((messages[0].path.as_str(), messages[0].mode), ("p", 0o600));
            assert!(messages[1..].iter().all(|message| message.path.is_empty()));
            assert_eq!(messages.iter().filter(|message| message.end).count(), 1);
            assert!(messages.last().is_some_and(|message| message.end));
            assert_eq!(messages.iter().map(|message| message.data.len()).sum::<usize>(), bytes);
        }
    }
}

//! Snapshots: copies of boxes' writable layers, from which other boxes can be made. They stay on the daemon that made them.

use std::collections::HashMap;
use std::sync::Arc;

use prl_sandbox_proto::{DeleteSnapshotRequest, ListRequest, SnapshotInfo, SnapshotList, SnapshotRequest};

use super::sandbox_box::SandboxBox;
use crate::ClientError;
use crate::call::{Manner, Repeat, TRANSFER_DEADLINE, ask};
use crate::client::{Client, Shared};
use crate::node::Node;

impl SandboxBox {
    /// Keeps a copy of its files as `id`, chosen by the caller; processes are not part of it.
    ///
    /// # Errors
    /// As of [`SandboxBox::stat`].
    pub async fn snapshot(&self, id: &str, labels: HashMap<String, String>) -> Result<SnapshotInfo, ClientError> {
        let request = SnapshotRequest {
            r#box: self.id().to_owned(),
            id: id.to_owned(),
            labels,
        };
        let asked = self.held.ask(Repeat::Safe, TRANSFER_DEADLINE, |mut boxes| {
            let request = request.clone();
            async move { boxes.snapshot(request).await }
        });
        let info = asked.await?;
        self.held.shared.snapshots.set(id, &self.held.node);
        Ok(info)
    }
}

impl Client {
    /// The caller's snapshots with all of these labels. Daemons that do not answer are left out when another does.
    ///
    /// # Errors
    /// As of [`Client::list`].
    pub async fn snapshots(&self, labels: HashMap<String, String>) -> Result<Vec<SnapshotInfo>, ClientError> {
        let found = self.shared.find_snapshots(labels).await?;
        Ok(found.into_iter().flat_map(|(_, list)| list.snapshots).collect())
    }

    /// Deletes a snapshot; boxes that were made from it stay as they are.
    ///
    /// # Errors
    /// PRL_SANDBOX_UNKNOWN; as of [`Client::list`].
    pub async fn delete_snapshot(&self, id: &str) -> Result<(), ClientError> {
        let node = self.shared.snapshot_place(id).await?;
        ask(&node, Manner::QUERY, |connection| async move {
            connection
                .boxes()
                .delete_snapshot(DeleteSnapshotRequest { id: id.to_owned() })
                .await
        })
        .await?;
        self.shared.snapshots.remove(id);
        Ok(())
    }
}

impl Shared {
    async fn find_snapshots(
        &self,
        labels: HashMap<String, String>,
    ) -> Result<Vec<(Arc<Node>, SnapshotList)>, ClientError> {
        let request = ListRequest { labels };
        self.survey(|node| {
            let request = request.clone();
            async move {
                ask(&node, Manner::QUERY, |connection| {
                    let request = request.clone();
                    async move { connection.boxes().list_snapshots(request).await }
                })
                .await
            }
        })
        .await
    }

    /// The daemon that keeps a snapshot.
    pub(crate) async fn snapshot_place(&self, id: &str) -> Result<Arc<Node>, ClientError> {
        if let Some(node) = self.snapshots.get(id) {
            return Ok(node);
        }
        let found = self.find_snapshots(HashMap::new()).await?;
        let place = found
            .into_iter()
            .find(|(_, list)| list.snapshots.iter().any(|snapshot| snapshot.id == id));
        let (node, _) =
            place.ok_or_else(|| ClientError::refused("PRL_SANDBOX_UNKNOWN", format!("no snapshot {id}"), None))?;
        self.snapshots.set(id, &node);
        Ok(node)
    }
}

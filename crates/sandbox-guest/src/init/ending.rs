//! The end of an exec that leaves nothing behind: everything that could outlive it is ended, removed or closed before
//! the daemon learns that the exec is gone. Before the next one begins, no process of a guest is left.

use std::io;

use super::exec::Enclosure;
use super::ipc::Ipc;
use super::network::Network;
use super::tree::{self, Kin};
use super::zygote::Born;
use super::{Server, end_everybody};
use crate::defence::Defence;
use crate::wire::Event;

/// The resources that the execs of a sandbox share apart from files. A part is `None` where the sandbox has no separate namespace for
/// it.
pub(super) struct Shared {
    ipc: Option<Ipc>,
    network: Option<Network>,
}

impl Shared {
    fn own() -> io::Result<Self> {
        let ipc = Defence::IpcNamespace.stands().then(Ipc::own).transpose()?;
        let network = Defence::NetworkNamespace.stands().then(Network::own).transpose()?;
        Ok(Self { ipc, network })
    }

    pub(super) fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }
}

impl Server<'_> {
    /// Runs before such an exec begins.
    pub(super) fn begin_enclosed(&mut self) -> io::Result<()> {
        self.end_strangers(|_| Ok(()))?;
        if self.home.is_none() && self.shared.is_none() {
            self.shared = Some(Shared::own()?);
        }
        match self.shared.as_mut().and_then(|shared| shared.network.as_mut()) {
            Some(network) => network.begin(),
            None => Ok(()),
        }
    }

    /// Runs when the main process of such an exec has ended. `events`: the events that report its end.
    pub(super) fn end_enclosed(&mut self, id: u64, mut events: Vec<Event>, enclosure: Enclosure) -> io::Result<()> {
        // Ending the processes that it leaves takes time, so report its end first.
        self.end_strangers(|server| server.control.send_all(id, events.drain(..)))?;
        if let Some(shared) = &mut self.shared {
            shared.ipc.as_ref().map_or(Ok(()), Ipc::clear)?;
            if shared.network.as_mut().map_or(Ok(false), Network::renew)? {
                events.push(Event::Moved(true));
            }
        }
        events.extend([enclosure.finished()?, Event::Gone(true)]);
        // Otherwise the layer's memory, and the time to free it, would count for the next exec.
        self.execs.keep(enclosure.into_layer());
        self.control.send_all(id, events)
    }

    /// Ends every process but this one and its kin. `found` is called first, when there is such a process.
    fn end_strangers(&mut self, found: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        let Some(kin) = self.kin() else {
            return Ok(());
        };
        if tree::alone(&kin) {
            return Ok(());
        }
        found(self)?;
        if kin.nurseries.is_empty() {
            end_everybody();
        } else {
            tree::kill_strangers(&kin);
        }
        Ok(())
    }

    /// `None` while a template forks a zygote for this sandbox: until that zygote has sent its pid, it looks like a
    /// stranger.
    fn kin(&mut self) -> Option<Kin> {
        let mut kin = Kin::default();
        for zygote in self.zygotes.values_mut() {
            let pid = zygote.pid();
            match (zygote.born(), pid) {
                (Born::Nursed(_), 0) => kin.unborn = true,
                (Born::Nursed(_), _) => kin.waiting.push(pid),
                (Born::Here | Born::Executed(_), 0) => return None,
                (Born::Here | Born::Executed(_), _) => kin.nurseries.push(pid),
            }
        }
        Some(kin)
    }
}

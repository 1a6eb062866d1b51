//! Init's work for zygotes: it has them forked, reads their messages, and hands programs over to them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::ending::Shared;
use super::exec::{self, Exec, Finds, NotAdopted, Reaped};
use super::network::Network;
use super::zygote::{Born, Instead, Word, Zygote};
use super::{Server, died, failure};
use crate::child;
use crate::wire::{Event, Hatch};

impl Server<'_> {
    /// Reads a message of a zygote and passes it on. A zygote whose link closes before its program begins is lost.
    pub(super) fn hear_zygote(&mut self, id: u64) -> io::Result<()> {
        let Some(zygote) = self.zygotes.get_mut(&id) else {
            return Ok(());
        };
        let word = zygote.hear()?;
        let begins = matches!(word, Word::Event(Event::Started(_)));
        if let Born::Executed(instead) = zygote.born() {
            if begins {
                child::keep_capabilities_of_ending()?;
            } else if let Some(instead) = instead.take().filter(|_| !self.killed) {
                self.zygotes.remove(&id).into_iter().for_each(Zygote::end);
                let reason = match word {
                    Word::Event(Event::Executing(reason)) => reason,
                    _ => "it ended".to_owned(),
                };
                self.control.send(id, Event::Executing(reason))?;
                return self.execute(id, &instead.start, &instead.streams);
            }
        }
        if !matches!(
            word,
            Word::Buried(_) | Word::Event(Event::Hatched(_) | Event::Executing(_))
        ) {
            self.zygotes.remove(&id);
        }
        match word {
            Word::Event(event) => {
                self.execs.began(id);
                self.control.send(id, event)
            }
            Word::Buried(buried) => {
                self.hear_out(buried.pid)?;
                match self.execs.buried(buried)? {
                    Reaped::Enclosed(id, events, enclosure) => self.end_enclosed(id, events, enclosure),
                    _ => Ok(()),
                }
            }
            // The end of a zygote that has its program is reported when it is reaped.
            Word::Nothing if self.killed || self.execs.has(id) => Ok(()),
            Word::Nothing => self.control.send(id, Event::Failed(failure(("zygote", died())))),
        }
    }

    /// Passes on all messages of a zygote that has a program, before its end is reported: the beginning of the program
    /// comes first.
    pub(super) fn hear_out(&mut self, pid: libc::pid_t) -> io::Result<()> {
        let mut all = self.zygotes.iter();
        let found = all.find(|(id, zygote)| zygote.pid() == pid && self.execs.has(**id));
        let Some(id) = found.map(|(id, _)| *id) else {
            return Ok(());
        };
        while self.zygotes.get(&id).is_some_and(Zygote::has_word) {
            self.hear_zygote(id)?;
        }
        Ok(())
    }

    /// A zygote that waited for a program has ended. Another process may hold its link open for a moment.
    pub(super) fn lose_zygote(&mut self, pid: libc::pid_t) -> io::Result<()> {
        let found = self.zygotes.iter().find(|(_, zygote)| zygote.pid() == pid);
        let Some(id) = found.map(|(id, _)| *id) else {
            return Ok(());
        };
        self.zygotes.remove(&id);
        if self.killed {
            return Ok(());
        }
        self.control.send(id, Event::Failed(failure(("zygote", died()))))
    }

    pub(super) fn hatch(&mut self, id: u64, wanted: Hatch) -> io::Result<()> {
        if wanted.nursery > 0 {
            if let Some(sizes) = &wanted.ahead
                && let Err(step) = self.execs.make_ahead(sizes, self.uid)
            {
                return self.control.send(id, Event::Failed(failure(step)));
            }
            let layer = wanted.layer.map(|sizes| self.execs.layer(&sizes, self.uid)).transpose();
            let nursery = self.zygotes.get(&wanted.nursery).ok_or(("nursery", died()));
            let born = layer.and_then(|layer| nursery.and_then(|nursery| nursery.bear(layer)));
            return match born {
                Ok(zygote) => {
                    self.zygotes.insert(id, zygote);
                    Ok(())
                }
                Err(step) => self.control.send(id, Event::Failed(failure(step))),
            };
        }
        match Zygote::nest(self.ways.of_programs(), wanted.sole, self.uid == 0) {
            Ok((zygote, needed)) => {
                let raw: Vec<RawFd> = needed.iter().map(AsRawFd::as_raw_fd).collect();
                self.zygotes.insert(id, zygote);
                self.control.send_with(id, Event::Nest(true), &raw)
            }
            Err(step) => self.control.send(id, Event::Failed(failure(step))),
        }
    }

    /// Starts an interpreter in advance.
    pub(super) fn advance(&mut self, id: u64, program: &crate::wire::Program, fds: &[OwnedFd]) -> io::Result<()> {
        let [input, output, errors] = fds else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let stdio = [input, output, errors].map(AsRawFd::as_raw_fd);
        let executed =
            exec::give(&stdio, self.uid).and_then(|()| Zygote::execute(program, stdio, self.uid, self.confinement()));
        match executed {
            Ok(zygote) => {
                self.zygotes.insert(id, zygote);
                Ok(())
            }
            Err(step) => self.control.send(id, Event::NotExecuted(failure(step))),
        }
    }

    /// Hands a program over to a zygote, which reports when the program begins. The zygote may have been killed
    /// meanwhile: then the program is executed.
    pub(super) fn adopt(&mut self, id: u64, start: &crate::wire::Start, fds: &[OwnedFd]) -> io::Result<()> {
        let zygote = self.zygotes.remove(&start.zygote);
        let adopted = match zygote {
            Some(zygote) => self
                .finds(start, &zygote)
                .and_then(|finds| Exec::adopt(start, fds, self.uid, zygote, finds)),
            None => Err(NotAdopted::Gone(died().to_string())),
        };
        match adopted {
            Ok((exec, Some(mut zygote))) => {
                if let Born::Executed(instead) = zygote.born() {
                    let streams = fds.iter().map(OwnedFd::try_clone).collect::<io::Result<_>>()?;
                    let start = start.clone();
                    *instead = Some(Box::new(Instead { start, streams }));
                } else if matches!(exec, Exec::Sole { .. }) {
                    child::keep_capabilities_of_ending()?;
                }
                self.zygotes.insert(id, zygote);
                self.execs.insert(id, exec);
                Ok(())
            }
            Ok((exec, None)) => {
                self.execs.insert(id, exec);
                Ok(())
            }
            Err(NotAdopted::Gone(reason)) => {
                self.control.send(id, Event::Executing(reason))?;
                self.execute(id, start, fds)
            }
            Err(NotAdopted::Failed(step)) => self.control.send(id, Event::Failed(failure(step))),
        }
    }

    /// A layer for a zygote that has none yet, and the network when it is no longer the one in which the zygote was
    /// forked.
    fn finds(&mut self, start: &crate::wire::Start, zygote: &Zygote) -> Result<Finds, NotAdopted> {
        let sizes = start.enclosed.as_ref().and_then(|enclosed| enclosed.layer);
        let sizes = sizes.filter(|_| zygote.wants_a_layer());
        let layer = sizes.map(|sizes| self.execs.layer(&sizes, self.uid)).transpose();
        let network = self
            .shared
            .as_ref()
            .and_then(Shared::network)
            .and_then(Network::namespace);
        Ok(Finds {
            layer: layer.map_err(|(step, error)| NotAdopted::Failed((step.to_owned(), error)))?,
            network,
        })
    }
}

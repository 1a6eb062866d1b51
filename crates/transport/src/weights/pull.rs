//! One pull: it finds the versions that are needed, chooses sources, and continues after a cut.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prl_weights::Encoding;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

use crate::error::Fault;
use crate::pb::weights_client::WeightsClient;
use crate::pb::{AcknowledgeRequest, DescribeRequest, FetchRequest};
use crate::retry::Patience;
use crate::weights::description::Description;
use crate::weights::landing::{Landed, Landing};
use crate::weights::node::{Pulled, Wanted, blocking};
use crate::weights::shelf::Shelf;
use crate::weights::sources::{Sources, Window};
use crate::weights::stream::{self, ChunkReceiver};
use crate::{Address, Credentials, Times, TransportError, link};

/// Longest chain of sparse versions.
const MAX_CHAIN: usize = 4096;
/// How long one call waits for a version that does not exist yet.
const DESCRIBE_WAIT: Duration = Duration::from_secs(5);
/// Largest description; manifests and lists of files are far smaller.
const MAX_DESCRIPTION_BYTES: usize = 64 << 20;

/// So often the bytes of a version may count again because it began anew.
const MAX_BEGINNINGS: u32 = 3;

/// Why a pull leaves a source that did not fail.
enum Left {
    /// The version is complete.
    Complete,
    /// Others are faster than its rate, in bytes per second.
    Slow(f64),
    /// Its bytes do not continue those that came before; with a description.
    Contradicts(String),
    /// A whole file differs from its description, so every byte of the version is in doubt; with a description.
    Wrong(String),
}

/// The next version in a chain.
enum Next {
    /// The version is in the root.
    Here(Pulled),
    /// The version that was found builds on one that must come first.
    Base { exact: Wanted, base: Wanted },
}

pub(crate) struct Pull {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) sources: Vec<Address>,
    pub(crate) credentials: Credentials,
    pub(crate) times: Times,
    pub(crate) closing: CancellationToken,
}

impl Pull {
    /// Pulls the version and its chain of bases, the oldest first. When a base exists nowhere any more, it asks for the version in full.
    pub(crate) async fn run(&self, wanted: &Wanted) -> Result<Pulled, TransportError> {
        let mut chain = vec![wanted.clone()];
        loop {
            let Some(next) = chain.last() else {
                return Err(TransportError::Version("the chain is empty".to_owned()));
            };
            if chain.len() > MAX_CHAIN {
                return Err(TransportError::Version(format!(
                    "the version builds on more than {MAX_CHAIN} others"
                )));
            }
            let here = match self.next(next).await {
                Ok(Next::Here(here)) => here,
                Ok(Next::Base { exact, base }) => {
                    // Name the version exactly: another one may become the newest while the base is pulled.
                    if let Some(last) = chain.last_mut() {
                        *last = exact;
                    }
                    chain.push(base);
                    continue;
                }
                Err(TransportError::Version(_)) if chain.len() > 1 => {
                    chain.truncate(1);
                    chain[0].full = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            chain.pop();
            if chain.is_empty() {
                return Ok(here);
            }
        }
    }

    /// Pulls one version, unless it lacks its base.
    async fn next(&self, wanted: &Wanted) -> Result<Next, TransportError> {
        if let Some(here) = self.here(wanted).await? {
            return Ok(Next::Here(here));
        }
        let manifest = self.describe(wanted).await?.manifest;
        let exact = wanted.exactly(manifest.version, &manifest.digest);
        if let Some(base) = &manifest.base {
            // The sources have the base now or never.
            let base = Wanted {
                wait: Some(Duration::ZERO),
                full: false,
                ..wanted.exactly(base.version, &base.digest)
            };
            if !self.holds(&base).await? {
                return Ok(Next::Base { exact, base });
            }
        }
        // A request for the newest version shows only now which one that is.
        match self.here(&exact).await? {
            Some(here) => Ok(Next::Here(here)),
            None => self.land(&exact).await.map(Next::Here),
        }
    }

    /// Asks the sources, one after the other, until one has the version.
    pub(crate) async fn describe(&self, wanted: &Wanted) -> Result<Description, TransportError> {
        let mut sources = Sources::new(&self.sources);
        let mut patience = Patience::new(self.times);
        let until = Instant::now() + wanted.wait.unwrap_or(self.times.patience);
        let mut absent = 0;
        loop {
            let Some((index, address)) = sources.pick() else {
                return Err(TransportError::Closed);
            };
            let outcome = async { self.ask(&self.connect(address).await?, wanted).await }.await;
            let reason = match outcome {
                Ok(description) => return Ok(description),
                Err(Fault::Final(error)) => return Err(error),
                Err(Fault::Passing(reason)) => reason,
                Err(Fault::Absent(reason)) => {
                    absent += 1;
                    if absent >= self.sources.len() && Instant::now() >= until {
                        return Err(TransportError::Version(reason));
                    }
                    patience.progress();
                    reason
                }
            };
            sources.failed(index);
            patience
                .pause(&name(wanted), &sources.names(), &reason, &self.closing)
                .await?;
        }
    }

    /// Reports to the first source that every node which needs a version has it.
    pub(crate) async fn acknowledge(&self, version: u64, digest: &str) -> Result<(), TransportError> {
        let sources = Sources::new(&self.sources);
        let mut patience = Patience::new(self.times);
        loop {
            let Some((_, address)) = sources.pick() else {
                return Err(TransportError::Closed);
            };
            let digest = digest.to_owned();
            let outcome: Result<_, Fault> = async {
                let mut client = WeightsClient::new(self.connect(address).await?);
                let answer = timeout(
                    self.times.stall,
                    client.acknowledge(AcknowledgeRequest { version, digest }),
                )
                .await;
                Ok(answer.map_err(|_| Fault::Passing("the acknowledgement was not answered in time".to_owned()))??)
            }
            .await;
            let reason = match outcome {
                Ok(_) => return Ok(()),
                Err(Fault::Final(error)) => return Err(error),
                Err(Fault::Passing(reason) | Fault::Absent(reason)) => reason,
            };
            let what = format!("the acknowledgement of weight version {version}");
            patience.pause(&what, &sources.names(), &reason, &self.closing).await?;
        }
    }

    /// Whether the version is in the root or held elsewhere.
    async fn holds(&self, wanted: &Wanted) -> Result<bool, TransportError> {
        let is_held = wanted
            .held
            .iter()
            .any(|(version, digest)| wanted.version == Some(*version) && wanted.digest.as_ref() == Some(digest));
        Ok(is_held || self.here(wanted).await?.is_some())
    }

    /// The version, if its directory exists. Only a version with number and digest can be known to be the wanted one.
    async fn here(&self, wanted: &Wanted) -> Result<Option<Pulled>, TransportError> {
        let (Some(version), Some(digest)) = (wanted.version, wanted.digest.clone()) else {
            return Ok(None);
        };
        let shelf = Arc::clone(&self.shelf);
        let full = wanted.full;
        blocking(move || {
            let manifest = shelf
                .manifest(version)?
                .filter(|manifest| manifest.digest == digest && !(full && manifest.encoding == Encoding::Sparse));
            Ok(manifest.map(|manifest| Pulled {
                directory: shelf.directory(version),
                manifest,
            }))
        })
        .await
    }

    /// Receives one version into its place.
    async fn land(&self, wanted: &Wanted) -> Result<Pulled, TransportError> {
        let mut sources = Sources::new(&self.sources);
        let mut patience = Patience::new(self.times);
        let mut landing = None;
        let mut gains = Gains::default();
        let mut came = Instant::now();
        let wait = wanted.wait.unwrap_or(self.times.patience);
        loop {
            let Some((index, address)) = sources.pick().map(|(index, address)| (index, address.clone())) else {
                return Err(TransportError::Closed);
            };
            let before = landing.as_ref().map_or(0, Landing::received);
            let is_slow = |rate| sources.measured(index, rate);
            let outcome = self.fetch(wanted, &address, &mut landing, is_slow).await;
            if let Some(current) = &landing
                && current.received() > before
            {
                sources.gave();
                came = Instant::now();
                if gains.count(current.description().id, current.received()) {
                    patience.progress();
                }
            }
            let reason = match outcome {
                Ok(Left::Complete) => match landing.take() {
                    Some(complete) => return finish(complete).await,
                    None => {
                        sources.failed(index);
                        "nothing was described".to_owned()
                    }
                },
                Ok(Left::Slow(rate)) => format!("{address} gives {rate:.0} bytes per second"),
                Ok(Left::Contradicts(reason)) => {
                    if sources.contradicts(index)
                        && let Some(doubted) = landing.take()
                    {
                        doubted.discard()?;
                    }
                    reason
                }
                Ok(Left::Wrong(reason)) => {
                    sources.failed(index);
                    if let Some(wrong) = landing.take() {
                        wrong.discard()?;
                    }
                    reason
                }
                Err(Fault::Final(error)) => return Err(error),
                Err(Fault::Passing(reason)) => {
                    sources.failed(index);
                    reason
                }
                Err(Fault::Absent(reason)) => {
                    // Retention may remove a version everywhere while it is pulled.
                    if sources.lacks(index) && came.elapsed() >= wait {
                        return Err(TransportError::Version(reason));
                    }
                    reason
                }
            };
            tracing::info!(%address, reason, "weights from another source");
            patience
                .pause(&name(wanted), &sources.names(), &reason, &self.closing)
                .await?;
        }
    }

    /// Receives from one source until the landing is complete or the source is left, because `is_slow` says so or its bytes do not fit.
    async fn fetch(
        &self,
        wanted: &Wanted,
        address: &Address,
        landing: &mut Option<Landing>,
        is_slow: impl FnMut(f64) -> bool,
    ) -> Result<Left, Fault> {
        let Some(stream) = self.begin(wanted, address, landing).await? else {
            return Ok(Left::Complete);
        };
        match self.carry(stream, landing, is_slow).await {
            Ok(Some(wrong @ Left::Wrong(_))) => Ok(wrong),
            // Everything has arrived, so it does not matter how the stream ended.
            _ if landing.as_ref().is_some_and(Landing::is_complete) => Ok(Left::Complete),
            Ok(None) => Err(Fault::Passing("the source ended before the version did".to_owned())),
            Ok(Some(left)) => Ok(left),
            Err(fault) => Err(fault),
        }
    }

    /// Takes the chunks of a source until it ends (`None`), sends wrong bytes, or is slow.
    async fn carry(
        &self,
        mut stream: ChunkReceiver,
        landing: &mut Option<Landing>,
        mut is_slow: impl FnMut(f64) -> bool,
    ) -> Result<Option<Left>, Fault> {
        let mut window = Window::new(self.times.stall / 2);
        while let Some(current) = landing.as_mut() {
            let Some(chunk) = timeout(self.times.stall, stream.next())
                .await
                .map_err(|_| Fault::Passing("nothing came for too long".to_owned()))??
            else {
                return Ok(None);
            };
            let bytes = chunk.bytes();
            match current.take(chunk)? {
                Landed::Taken => {}
                Landed::Refused(reason) => return Err(Fault::Passing(reason)),
                Landed::Contradicts(reason) => return Ok(Some(Left::Contradicts(reason))),
                Landed::Wrong(reason) => return Ok(Some(Left::Wrong(reason))),
            }
            if let Some(rate) = window.count(bytes)
                && is_slow(rate)
            {
                return Ok(Some(Left::Slow(rate)));
            }
        }
        Ok(None)
    }

    /// Gets the description of the version from one source and asks for the missing bytes; `None` when none are missing.
    async fn begin(
        &self,
        wanted: &Wanted,
        address: &Address,
        landing: &mut Option<Landing>,
    ) -> Result<Option<ChunkReceiver>, Fault> {
        let mut channel = self.connect(address).await?;
        let description = self.ask(&channel, wanted).await?;
        if landing
            .as_ref()
            .is_none_or(|landing| landing.description().id != description.id)
        {
            *landing = None;
            let shelf = Arc::clone(&self.shelf);
            *landing = Some(blocking(move || Landing::begin(shelf, description)).await?);
        }
        let Some(current) = landing.as_ref().filter(|landing| !landing.is_complete()) else {
            return Ok(None);
        };
        let request = FetchRequest {
            version: current.description().manifest.version,
            description: current.description().id,
            offsets: current.offsets(),
        };
        match timeout(self.times.stall, stream::fetch(&mut channel, &request)).await {
            Ok(chunks) => Ok(Some(chunks?)),
            Err(_) => Err(Fault::Passing("the source did not begin to send in time".to_owned())),
        }
    }

    async fn connect(
        &self,
        address: &Address,
    ) -> Result<InterceptedService<Channel, impl Interceptor + Clone + use<>>, Fault> {
        let channel = link::connect(address, &self.credentials, &self.times).await?;
        Ok(InterceptedService::new(channel, self.credentials.present()))
    }

    async fn ask(
        &self,
        channel: &InterceptedService<Channel, impl Interceptor + Clone>,
        wanted: &Wanted,
    ) -> Result<Description, Fault> {
        let mut client = WeightsClient::new(channel.clone()).max_decoding_message_size(MAX_DESCRIPTION_BYTES);
        let wait = DESCRIBE_WAIT.min(wanted.wait.unwrap_or(self.times.patience));
        let request = DescribeRequest {
            version: wanted.version,
            after: wanted.after,
            digest: wanted.digest.clone(),
            full: wanted.full,
            wait_ms: u32::try_from(wait.as_millis()).unwrap_or(u32::MAX),
        };
        let version = match timeout(wait + self.times.stall, client.describe(request)).await {
            Ok(response) => response?.into_inner(),
            Err(_) => return Err(Fault::Passing("the source did not answer in time".to_owned())),
        };
        // The description was damaged on the network or by the source; the next try may succeed.
        let description = Description::from_wire(version).map_err(|error| Fault::Passing(error.to_string()))?;
        let manifest = &description.manifest;
        let is_wanted = wanted.version.is_none_or(|version| version == manifest.version)
            && wanted.digest.as_ref().is_none_or(|digest| *digest == manifest.digest)
            && !(wanted.full && description.is_sparse());
        if is_wanted {
            return Ok(description);
        }
        Err(Fault::Passing(format!("the source described {}", description.name())))
    }
}

async fn finish(landing: Landing) -> Result<Pulled, TransportError> {
    let manifest = landing.description().manifest.clone();
    let directory = blocking(move || landing.finish()).await?;
    Ok(Pulled { directory, manifest })
}

impl Wanted {
    /// The same request for one version, named by number and digest.
    fn exactly(&self, version: u64, digest: &str) -> Self {
        Self {
            version: Some(version),
            digest: Some(digest.to_owned()),
            after: None,
            ..self.clone()
        }
    }
}

fn name(wanted: &Wanted) -> String {
    match (wanted.version, wanted.after) {
        (Some(version), _) => format!("weight version {version}"),
        (None, Some(after)) => format!("a weight version after {after}"),
        (None, None) => "the newest weight version".to_owned(),
    }
}

/// The most bytes that came of each description: only more of them are progress. A version that begins anew, because what came of it was wrong, may
/// need as long again, so its bytes count again; but not after too many beginnings.
#[derive(Default)]
struct Gains(HashMap<u64, Gain>);

#[derive(Default)]
struct Gain {
    most: u64,
    beginnings: u32,
}

impl Gains {
    /// Notes that so many bytes of a description are here now; returns whether that is progress.
    fn count(&mut self, description: u64, received: u64) -> bool {
        let gain = self.0.entry(description).or_default();
        if received < gain.most && gain.beginnings < MAX_BEGINNINGS {
            *gain = Gain {
                most: 0,
                beginnings: gain.beginnings + 1,
            };
        }
        let is_more = received > gain.most;
        gain.most = gain.most.max(received);
        is_more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_again_when_a_version_begins_anew_but_not_for_ever() {
        let mut gains = Gains::default();
        assert!(gains.count(1, 90));
        assert!(!gains.count(1, 90));
        assert!(gains.count(2, 10), "another description");
        for beginning in 0..MAX_BEGINNINGS {
            assert!(gains.count(1, 50), "{beginning}");
            assert!(gains.count(1, 80), "{beginning}");
        }
        assert!(!gains.count(1, 50));
        assert!(!gains.count(1, 80));
        assert!(gains.count(1, 81));
    }
}

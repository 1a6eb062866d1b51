//! The load of a daemon, which it sends in the trailers of every reply.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// Metadata key of the trailers that carry a [`Load`].
pub const LOAD_KEY: &str = "prl-load";

/// The load at the moment when a reply ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Runs, and execs in held sandboxes.
    pub running: u32,
    /// Runs that wait for a slot.
    pub queued: u32,
    /// Sandboxes made in advance.
    pub parked: u32,
    /// Held sandboxes.
    pub held: u32,
    /// Most runs at the same time; 0 when the daemon takes none.
    pub capacity: u32,
}

impl fmt::Display for Load {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            running,
            queued,
            parked,
            held,
            capacity,
        } = self;
        write!(
            formatter,
            "running={running} queued={queued} parked={parked} held={held} capacity={capacity}"
        )
    }
}

/// Missing counts are 0 and unknown ones are skipped, because daemons of other versions may send fewer or more.
impl FromStr for Load {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let mut load = Self::default();
        for (name, value) in text.split(' ').filter_map(|pair| pair.split_once('=')) {
            let field = match name {
                "running" => &mut load.running,
                "queued" => &mut load.queued,
                "parked" => &mut load.parked,
                "held" => &mut load.held,
                "capacity" => &mut load.capacity,
                _ => continue,
            };
            *field = value.parse().unwrap_or_default();
        }
        Ok(load)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was_sent() {
        let load = Load {
            running: 3,
            queued: 0,
            parked: 8,
            held: 5,
            capacity: u32::MAX,
        };
        assert_eq!(load.to_string().parse(), Ok(load));
        let partial = "running=2 later=9 queued=x".parse::<Load>();
        assert_eq!(
            partial,
            Ok(Load {
                running: 2,
                ..Load::default()
            })
        );
    }
}

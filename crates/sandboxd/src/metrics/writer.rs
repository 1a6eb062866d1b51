//! Writes metric families in the text format, one call each.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::counts::{BOUNDS, Times};

/// Writes into a page.
#[derive(Debug)]
pub(super) struct Writer<'a>(pub(super) DescriptorEncoder<'a>);

impl Writer<'_> {
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        family.encode_gauge(&value)
    }

    /// Writes one gauge for each value of a label.
    pub(super) fn gauges(&mut self, name: &str, help: &str, label: &str, values: &[(&str, f64)]) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (of, value) in values {
            family.encode_family(&[(label, *of)])?.encode_gauge(value)?;
        }
        Ok(())
    }

    /// Writes a counter. `name` is without `_total`.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        family.encode_counter::<NoLabelSet, f64, f64>(&value, None)
    }

    pub(super) fn counters(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (of, value) in values {
            let labels = [(label, *of)];
            let mut one = family.encode_family(&labels)?;
            one.encode_counter::<NoLabelSet, u64, f64>(value, None)?;
        }
        Ok(())
    }

    pub(super) fn times(&mut self, name: &str, help: &str, times: &Times) -> fmt::Result {
        let (classes, sum) = times.read();
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(classes).collect();
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        family.encode_histogram::<NoLabelSet>(sum, classes.iter().sum(), &buckets, None)
    }
}

//! The JSON of a safetensors header: its grammar, without the rules that connect it with the data.
//!
//! Unknown keys of a tensor are skipped, as the reference implementation does.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::header::{METADATA_KEY, TensorInfo};
use crate::Dtype;

pub(crate) struct RawHeader {
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) tensors: Vec<TensorInfo>,
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = RawHeader;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
        let mut metadata: Option<Option<UniqueStrings>> = None;
        let mut names = HashSet::new();
        let mut tensors = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == METADATA_KEY {
                if metadata.is_some() {
                    return Err(de::Error::custom("duplicate key \"__metadata__\""));
                }
                metadata = Some(map.next_value()?);
                continue;
            }
            if !names.insert(name.clone()) {
                return Err(de::Error::custom(format_args!("duplicate tensor name {name:?}")));
            }
            let RawTensor {
                dtype,
                shape,
                data_offsets,
            } = map.next_value()?;
            tensors.push(TensorInfo {
                name,
                dtype,
                shape,
                data_offsets,
            });
        }
        let metadata = metadata.flatten().map_or_else(BTreeMap::new, |strings| strings.0);
        Ok(RawHeader { metadata, tensors })
    }
}

struct UniqueStrings(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for UniqueStrings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringsVisitor;
        impl<'de> Visitor<'de> for StringsVisitor {
            type Value = UniqueStrings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueStrings, A::Error> {
                let mut strings = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    if strings.contains_key(&key) {
                        return Err(de::Error::custom(format_args!("duplicate metadata key {key:?}")));
                    }
                    strings.insert(key, value);
                }
                Ok(UniqueStrings(strings))
            }
        }
        deserializer.deserialize_map(StringsVisitor)
    }
}

struct RawTensor {
    dtype: Dtype,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'de> Deserialize<'de> for RawTensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TensorVisitor)
    }
}

struct TensorVisitor;

impl<'de> Visitor<'de> for TensorVisitor {
    type Value = RawTensor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with dtype, shape and data_offsets")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawTensor, A::Error> {
        let mut dtype: Option<Dtype> = None;
        let mut shape: Option<Vec<usize>> = None;
        let mut data_offsets: Option<(usize, usize)> = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "dtype" => fill(&mut dtype, "dtype", &mut map)?,
                "shape" => fill(&mut shape, "shape", &mut map)?,
                "data_offsets" => fill(&mut data_offsets, "data_offsets", &mut map)?,
                _ => map.next_value::<Skipped>().map(drop)?,
            }
        }
        Ok(RawTensor {
            dtype: dtype.ok_or_else(|| de::Error::missing_field("dtype"))?,
            shape: shape.ok_or_else(|| de::Error::missing_field("shape"))?,
            data_offsets: data_offsets.ok_or_else(|| de::Error::missing_field("data_offsets"))?,
        })
    }
}

fn fill<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    field: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(de::Error::duplicate_field(field));
    }
    *slot = Some(map.next_value()?);
    Ok(())
}

impl<'de> Deserialize<'de> for Dtype {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| de::Error::custom(format_args!("unknown dtype {name:?}")))
    }
}

/// Any JSON value, parsed in full and dropped; unlike serde's `IgnoredAny` it counts against the nesting limit.
struct Skipped;

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SkipVisitor)
    }
}

struct SkipVisitor;

impl<'de> Visitor<'de> for SkipVisitor {
    type Value = Skipped;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_str<E>(self, _: &str) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_unit<E>(self) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Skipped, A::Error> {
        while seq.next_element::<Skipped>()?.is_some() {}
        Ok(Skipped)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Skipped, A::Error> {
        while map.next_entry::<String, Skipped>()?.is_some() {}
        Ok(Skipped)
    }
}

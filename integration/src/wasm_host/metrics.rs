//! The metrics that a guest defined.

use std::collections::BTreeMap;

use super::Status;

const COUNTER: u32 = 0;
const GAUGE: u32 = 1;
const HISTOGRAM: u32 = 2;

/// Metrics by name; ids as handed to the guest.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    by_id: Vec<(u32, String)>,
    values: BTreeMap<String, u64>,
}

// === impl Metrics ===

impl Metrics {
    /// Defining a name again gives another id of the same metric, as in Envoy.
    pub(super) fn define(&mut self, kind: u32, name: String) -> Result<u32, Status> {
        if kind > HISTOGRAM {
            return Err(Status::BadArgument);
        }
        self.values.entry(name.clone()).or_default();
        self.by_id.push((kind, name));
        u32::try_from(self.by_id.len()).map_err(|_| Status::InternalFailure)
    }

    pub(super) fn increment(&mut self, id: u32, offset: i64) -> Result<(), Status> {
        let (kind, value) = self.find(id)?;
        match kind {
            COUNTER if offset >= 0 => *value += offset.unsigned_abs(),
            GAUGE => *value = value.saturating_add_signed(offset),
            _ => return Err(Status::BadArgument),
        }
        Ok(())
    }

    pub(super) fn record(&mut self, id: u32, amount: u64) -> Result<(), Status> {
        let (kind, value) = self.find(id)?;
        if kind == COUNTER {
            *value += amount;
        } else {
            *value = amount;
        }
        Ok(())
    }

    pub(super) fn get(&mut self, id: u32) -> Result<u64, Status> {
        self.find(id).map(|(_, value)| *value)
    }

    pub(super) fn by_name(&self) -> &BTreeMap<String, u64> {
        &self.values
    }

    fn find(&mut self, id: u32) -> Result<(u32, &mut u64), Status> {
        let index = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
        let (kind, name) = index.and_then(|index| self.by_id.get(index)).ok_or(Status::NotFound)?;
        let value = self.values.get_mut(name).ok_or(Status::NotFound)?;
        Ok((*kind, value))
    }
}

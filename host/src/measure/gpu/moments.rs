//! Columns of moments, from the sums of portions and of pieces.

use trazar_kernels::measure::moment_columns::{
    MomentColumnBuffers, MomentSums, columns_of, is_exact, kind, write_moments,
};

use super::columns::table_of;
use super::pieces::SumsOfPieces;
use super::portions::SumsOfPortions;
use super::result::{DeviceColumnValues, DeviceMeasures};
use super::runs::Sorted;
use crate::error::Result;
use crate::gpu::{Gpu, GpuBuffer, OnGpu};
use crate::measure::Property;

/// The moments that a property consists of.
#[derive(Clone, Copy)]
pub(super) struct MomentKind {
    /// Which moments: a [`kind`].
    kind: u32,
    pub(super) is_weighted: bool,
}

impl MomentKind {
    /// That of a property; none for properties that are no moments.
    pub(super) const fn of(property: Property) -> Option<Self> {
        let (kind, is_weighted) = match property {
            Property::Moments => (kind::IN_BOX, false),
            Property::MomentsCentral => (kind::CENTRAL, false),
            Property::MomentsNormalized => (kind::NORMALIZED, false),
            Property::MomentsHu => (kind::HU, false),
            Property::MomentsWeighted => (kind::IN_BOX, true),
            Property::MomentsWeightedCentral => (kind::CENTRAL, true),
            Property::MomentsWeightedNormalized => (kind::NORMALIZED, true),
            Property::MomentsWeightedHu => (kind::HU, true),
            _ => return None,
        };
        Some(Self { kind, is_weighted })
    }

    /// Whether they need exact sums of second order.
    pub(super) const fn is_exact(self) -> bool {
        is_exact(self.kind, self.is_weighted)
    }
}

/// The sums that moments are made of.
pub(super) struct SumsForMoments<'a, G: Gpu> {
    pub(super) portions: &'a SumsOfPortions<G>,
    pub(super) pieces: &'a SumsOfPieces<G>,
}

impl<G: Gpu> SumsForMoments<'_, G> {
    /// The table of these properties, all of which are [moments](MomentKind). There are the sums
    /// that they need.
    pub(super) fn table(
        &self,
        gpu: &G,
        sorted: &mut Sorted<G>,
        properties: &[Property],
        spacing: [f64; 2],
    ) -> Result<DeviceMeasures<G>> {
        let mut columns = Vec::new();
        for &property in properties {
            if let Some(of_kind) = MomentKind::of(property) {
                columns.push((property, self.columns(gpu, sorted, of_kind, spacing)?));
            }
        }
        Ok(table_of(columns, sorted.rows() as usize, properties))
    }

    /// The columns of moments of a kind.
    fn columns(
        &self,
        gpu: &G,
        sorted: &mut Sorted<G>,
        MomentKind { kind, is_weighted }: MomentKind,
        spacing: [f64; 2],
    ) -> Result<Vec<DeviceColumnValues<G>>> {
        let sizes = sorted.column_sizes(columns_of(kind));
        let mut columns = MomentColumnBuffers::alloc(&OnGpu(gpu.clone()), &sizes)?;
        let powers = match is_weighted {
            true => &self.portions.weighted,
            false => &self.portions.powers,
        };
        let sums = MomentSums {
            kind,
            is_weighted: is_weighted.into(),
            labels: sorted.groups.values,
            portions: self.portions.view(),
            powers: powers.view(),
            first_columns: self.portions.first_columns.view(),
            of_pieces: self.pieces.bits,
        };
        let shape = sorted.shape(spacing);
        // SAFETY: portions and pieces are those of the runs, and there is a row for each label that
        // is not background. The launch is refused if sums are missing.
        unsafe {
            write_moments::launch_threads(
                &gpu.launcher(),
                sizes.rows,
                sorted.view(),
                sums,
                self.pieces.view(),
                shape,
                columns.views(),
            )?;
        }
        let all = [
            columns.m00,
            columns.m01,
            columns.m02,
            columns.m03,
            columns.m10,
            columns.m11,
            columns.m12,
            columns.m13,
            columns.m20,
            columns.m21,
            columns.m22,
            columns.m23,
            columns.m30,
            columns.m31,
            columns.m32,
            columns.m33,
        ];
        // Hu's moments are the first seven.
        let count = sizes.wanted.count_ones() as usize;
        let all = all.into_iter().take(count);
        Ok(all.map(DeviceColumnValues::Floats).collect())
    }
}

//! Tracing by components, on all cores: the kernels' algorithm, stage by stage.
//!
//! After Yin et al., "G-Contour: GPU Accelerated Contour Tracing For Large-Scale Layouts" (2025).
//!
//! 1. **Boundary extraction** (`nodes.rs`): `count_nodes` finds the nodes that borders consist of,
//!    and gives them indices by population counts and prefix sums.
//! 2. **Component analysis** (`join.rs`): `list_nodes` makes sets of nodes that lie straight behind
//!    each other in a word; `join_nodes` joins all others with their successors by union-find with
//!    an atomic minimum, so that a border's root is its smallest node; `flatten_nodes` collects the
//!    roots.
//! 3. **Starting points** (`join.rs`): `select_starts` lists the roots, which are the borders'
//!    starts in order of discovery, each with the previous border in its row.
//! 4. **Following** (`follow.rs`): all borders are followed at once, long ones in stretches:
//!    `list_stretches`, `measure_stretches`, `measure_heads`, `cut_cycle`, `write_steps`. The
//!    result is written as [`Chains`].
//!
//! A **node** is a step of a border, named by its pixel and by one of the pixel's sides that it
//! passes: W if it passes that, else E, N or S. Over centers, a node is thus a gap in a pixel's
//! neighbours, and along edges a side. W and E nodes come first, in raster order, W before E in one
//! pixel; N and S nodes come after all of these. Every border has a W or E node, and a raster scan
//! meets the border at the first of them: W of an outer border, E of a hole's. The kernels differ
//! in one respect: along edges their nodes are W and E sides only, and stretches are shorter.
//!
//! Memory beyond the result:
//!
//! | bytes | per | |
//! |---|---|---|
//! | 0.75 | pixel | |
//! | 4, then 1 | step of a border | until it is followed, then as its chain code |
//! | 52 | border | |
//! | 4 | run of foreground in a row | along edges, given back before the rest |
//! | 0.125 | pixel | along edges, the joined saddles |

mod follow;
mod join;
mod nodes;

use trazar_kernels::trace::node_bits::Kind;

use super::chains::{Chains, Direction};
use super::pixels::Pixels;
use super::plane::Plane;
use super::saddles::Saddles;
use super::walk::{Centers, Edges, Move, Node, Step, Walk, with_stay};
use crate::error::Result;
use crate::image::BinaryImage;
use crate::progress::Progress;
use crate::trace::Band;
use crate::trace::Geometry;
use nodes::Nodes;

/// Follows all borders of an image.
pub(super) fn follow_borders(
    image: &BinaryImage,
    geometry: Geometry,
    progress: &Progress<'_>,
) -> Result<Chains> {
    let plane = Plane::of(image)?;
    match geometry {
        Geometry::Centers => follow(&Centers { plane: &plane }, &plane, geometry, progress),
        Geometry::Edges => {
            let saddles = Saddles::of(Band::whole(image))?;
            follow(&Edges::new(&plane, &saddles, 0), &plane, geometry, progress)
        }
    }
}

fn follow<K: Walk>(
    walk: &K,
    plane: &Plane,
    geometry: Geometry,
    progress: &Progress<'_>,
) -> Result<Chains> {
    let walk = NodeWalk {
        walk,
        plane,
        offsets: with_stay(plane.neighbour_offsets()),
    };
    let nodes = Nodes::count_nodes(plane, geometry)?;
    let starts = join::find(&walk, &nodes, progress)?;
    let stretches = follow::list_stretches(&nodes)?;
    drop(nodes);
    follow::follow(&walk, starts, &stretches, progress)
}

/// A node as one number: 4 times its pixel's place, and its kind: 0, 1, 2 and 3 for W, E, N and S.
type Entry = u64;

/// The kinds that begin borders.
const W: u32 = Kind::W as u32;
const E: u32 = Kind::E as u32;

fn entry(place: usize, kind: u32) -> Entry {
    (place as u64) << 2 | u64::from(kind)
}

fn place(entry: Entry) -> usize {
    (entry >> 2) as usize
}

/// How borders go from node to node.
struct NodeWalk<'a, K> {
    walk: &'a K,
    plane: &'a Plane,
    /// The distance in places that each move covers.
    offsets: [isize; 9],
}

impl<K: Walk> NodeWalk<'_, K> {
    /// The node of an entry; `None` if its border is a single pixel, without steps over its center.
    #[inline]
    fn node(&self, entry: Entry) -> Option<Node> {
        let place = place(entry);
        let aside = Kind::from_bits(entry as u32).direction() as Direction;
        let code = self.walk.node_at(place, aside)?;
        Some(Node { place, code })
    }

    /// The entry of a node, from the step that leaves it.
    #[inline]
    fn entry(&self, node: Node, step: Step) -> Entry {
        // Sides have the bits of their kinds.
        entry(node.place, u32::from(step.passed).trailing_zeros())
    }

    /// Where a step leads.
    #[inline]
    fn next(&self, node: Node, step: Step) -> Node {
        Node {
            place: self.moved(node.place, step.to),
            code: step.next,
        }
    }

    #[inline]
    fn moved(&self, place: usize, to: Move) -> usize {
        place.wrapping_add_signed(self.offsets[usize::from(to)])
    }

    /// The number of steps, this one included, that lead straight on to the W or E from a node
    /// reached in that direction; 0 if `step` is not such a step.
    #[inline]
    fn straight(&self, node: Node, step: Step) -> usize {
        // Codes are relative to the border's direction: an unchanged code means straight on.
        if step.next == node.code && step.to == step.direction && step.direction & 3 == 0 {
            self.plane.straight(node.place, step.direction)
        } else {
            0
        }
    }
}

//! Entering on all threads gives what entering net by net does.

use std::collections::HashSet;

use super::*;
use crate::Cell;
use crate::geometry::Window;
use crate::route::grid::RoutingGrid;
use crate::route::negotiate::EdgeCounts;
use crate::seeds::{Random, seed_or};

const SIZE: [u32; 3] = [7, 5, 2];

/// A tree of paths that have no edge in common, some of them kept from `old`; the others are of
/// pins from `first_pin` on.
fn draw_tree(
    random: &mut Random,
    edges: &Edges<'_>,
    old: &Joined,
    first_pin: usize,
) -> (Joined, usize) {
    let mut tree = Joined::default();
    let mut used = HashSet::new();
    for (pin, cost, path) in old.paths() {
        if random.below(3) > 0 {
            used.extend(edges.along(path));
            tree.push(pin, cost, path).unwrap();
        }
    }
    let kept = tree.paths().count();
    for pin in 0..random.below(4) as usize {
        let [x, y, layer] = SIZE.map(|size| random.below(size));
        let mut at = Cell { x, y, layer };
        let mut path = vec![edges.grid.index(at)];
        for _ in 0..random.below(9) {
            let mut next = at;
            let (place, size) = match random.below(5) {
                0 | 1 => (&mut next.x, SIZE[0]),
                2 | 3 => (&mut next.y, SIZE[1]),
                _ => (&mut next.layer, SIZE[2]),
            };
            *place = match random.below(2) {
                0 => *place + 1,
                _ => place.wrapping_sub(1),
            };
            if *place >= size {
                continue;
            }
            let next_index = edges.grid.index(next);
            let edge = edges
                .along(&[edges.grid.index(at), next_index])
                .next()
                .unwrap();
            if used.insert(edge) {
                path.push(next_index);
                at = next;
            }
        }
        tree.push(first_pin + pin, 0, &path).unwrap();
    }
    (tree, kept)
}

/// Replaces one net's tree, all others' being what they are: the rule, without claims.
fn enter_one(edges: &Edges<'_>, entry: &mut Entry, change: &Change, tree: Joined) -> bool {
    let changed = &mut Vec::new();
    edges.give_back(&change.given_up, changed).unwrap();
    let mut tree = tree;
    let mut costs = change.found.costs.iter().skip(change.kept);
    let mut entered = Vec::new();
    let mut count = change.kept;
    for (_, _, path) in tree.paths().skip(change.kept) {
        let of_path: Vec<usize> = edges.along(path).collect();
        if of_path
            .iter()
            .map(|&edge| u64::from(edges.cost(edge)))
            .sum::<u64>()
            > *costs.next().unwrap()
        {
            break;
        }
        entered.extend(of_path);
        count += 1;
    }
    let is_complete = count == tree.paths().count();
    if is_complete || change.given_up.is_empty() {
        edges.take(&entered, changed).unwrap();
        tree.truncate(count);
        entry.tree = tree;
        entry.has_all = change.found.has_all && is_complete;
        entry.starts_anew = false;
    } else {
        edges.take(&change.given_up, changed).unwrap();
    }
    is_complete
}

fn copy_of(tree: &Joined) -> Joined {
    let mut copy = Joined::default();
    for (pin, cost, path) in tree.paths() {
        copy.push(pin, cost, path).unwrap();
    }
    copy
}

#[test]
fn nets_enter_as_one_by_one() {
    let [width, height, _] = SIZE;
    let layer = RoutingGrid::uniform(width, height, 3).unwrap();
    let cells = (width * height) as usize;
    let grid = RoutingGrid::stack(&[layer.clone(), layer], &vec![2; cells]).unwrap();
    let capacities = EdgeCounts::uniform(&grid, 1, 2).unwrap();
    let window = Window::of(&grid);
    let mut random = Random::new(seed_or(33));
    let [mut complete, mut in_part, mut refused] = [0; 3];
    for case in 0..200 {
        let mut all_at_once = Edges::new(&grid, &capacities).unwrap();
        let mut one_by_one = Edges::new(&grid, &capacities).unwrap();
        let pressure = 16 + random.below(100);
        all_at_once.set_pressure(pressure);
        one_by_one.set_pressure(pressure);
        let nets = 1 + random.below(9) as usize;
        let mut entries: Vec<Entry> = (0..nets).map(|_| Entry::new(window, 8)).collect();
        let mut expected: Vec<Entry> = (0..nets).map(|_| Entry::new(window, 8)).collect();
        let mut outcome = Outcome::default();
        for batch in 0..4 {
            let mut changes = Vec::new();
            let mut expected_again = Vec::new();
            // All trees are drawn before the first one enters.
            let mut trees = Vec::new();
            for (net, entry) in (0..).zip(&entries) {
                let (tree, kept) = draw_tree(&mut random, &one_by_one, &entry.tree, 4 * batch);
                let kept_pins: HashSet<usize> = tree.paths().take(kept).map(|p| p.0).collect();
                let given_up = entry
                    .tree
                    .paths()
                    .filter(|path| !kept_pins.contains(&path.0));
                let given_up: Vec<usize> = given_up.flat_map(|p| one_by_one.along(p.2)).collect();
                let changed = &mut Vec::new();
                one_by_one.give_back(&given_up, changed).unwrap();
                let costs = tree.paths().map(|(_, _, path)| {
                    let cost = one_by_one.along(path).map(|edge| one_by_one.cost(edge));
                    cost.map(u64::from).sum()
                });
                let costs = costs.collect();
                one_by_one.take(&given_up, changed).unwrap();
                trees.push(copy_of(&tree));
                changes.push(Change {
                    net,
                    given_up,
                    kept,
                    found: Found {
                        tree,
                        costs,
                        has_all: random.below(4) > 0,
                    },
                });
            }
            for (change, tree) in changes.iter().zip(trees) {
                let entry = &mut expected[change.net as usize];
                let gives_up = !change.given_up.is_empty();
                let is_complete = enter_one(&one_by_one, entry, change, tree);
                match (is_complete, gives_up) {
                    (true, _) => complete += 1,
                    (false, false) => in_part += 1,
                    (false, true) => refused += 1,
                }
                if !is_complete {
                    expected_again.push(change.net);
                }
            }
            let before = all_at_once.costs().to_vec();
            enter(&all_at_once, &mut entries, changes, &mut outcome).unwrap();
            let what = format!("case {case}, batch {batch}: not the oracle's");
            assert_eq!(outcome.again, expected_again, "{what}");
            assert_eq!(all_at_once.costs(), one_by_one.costs(), "{what}");
            assert!(
                all_at_once.usage().unwrap() == one_by_one.usage().unwrap(),
                "{what}"
            );
            let mut told = before;
            for (&edge, &cost) in outcome.changed.iter().zip(&outcome.costs) {
                told[edge as usize] = cost;
            }
            assert_eq!(told, all_at_once.costs(), "{what}");
            for (entry, expected) in entries.iter().zip(&expected) {
                assert!(entry.tree.paths().eq(expected.tree.paths()), "{what}");
                assert_eq!(entry.has_all, expected.has_all, "{what}");
                assert_eq!(entry.starts_anew, expected.starts_anew, "{what}");
            }
        }
    }
    println!("{complete} complete, {in_part} in part, {refused} refused");
    assert!(complete.min(in_part).min(refused) > 20);
}

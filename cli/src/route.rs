//! `trazar route`.

use std::io::Write;
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use trazar::route::{
    Fallback, Negotiated, NegotiationOptions, Route, RouteAlgorithm, RouteOptions, RoutingCase,
};
use trazar::{Backend, Engine, Job, formats};

use crate::args::{self, NetInputArgs, RouteArgs, RouteFormat, RunArgs};
use crate::facts::{Facts, count};
use crate::failure::Failure;
use crate::output;
use crate::paths::{Named, check_distinct, check_one_stdin, source};
use crate::progress::Progress;
use crate::run_job::Steps;

/// The job, its options checked.
pub(crate) struct RouteNets<'a> {
    args: &'a RouteArgs,
    format: Option<RouteFormat>,
    /// `None` is for paths with the fewest edges.
    options: Option<RouteOptions>,
}

impl<'a> RouteNets<'a> {
    pub(crate) fn new(args: &'a RouteArgs) -> Result<Self, Failure> {
        let format = output::format(args.output.as_deref(), args.format)?;
        check(args)?;
        let algorithm: Option<trazar::RouteAlgorithm> = args.algorithm.into();
        let tree: Option<trazar::TreeKind> = args.tree_kind().into();
        let options = tree.map(|tree| {
            RouteOptions::default()
                .tree(tree)
                .effort(args.improve.unwrap_or_default())
                .turn_cost(args.turn_cost)
                .algorithm(algorithm)
        });
        Ok(Self {
            args,
            format,
            options,
        })
    }
}

/// The trees.
pub(crate) enum Found {
    Independent(Vec<Route>),
    Competing(Negotiated),
}

impl Found {
    fn routes(&self) -> &[Route] {
        match self {
            Self::Independent(routes) => routes,
            Self::Competing(found) => &found.routes,
        }
    }
}

impl Steps for RouteNets<'_> {
    const NAME: &'static str = "route";
    type Input = RoutingCase;
    type Found = Found;
    type Output = RouteFormat;

    fn run_args(&self) -> &RunArgs {
        &self.args.run
    }

    fn backends(&self) -> Option<&'static [Backend]> {
        match &self.options {
            Some(options) => options.algorithm.map(RouteAlgorithm::backends),
            None => Some(&[Backend::Cpu]),
        }
    }

    fn read(&self) -> Result<RoutingCase, Failure> {
        let case = Progress::reading(self.args.run.quiet, || read(&self.args.input))?;
        check_competing(self.args, &case)?;
        Ok(case)
    }

    fn input_path(&self) -> &Path {
        self.args.input.name()
    }

    fn outputs(&self) -> Vec<(RouteFormat, &Path)> {
        let output = self.format.zip(self.args.output.as_deref());
        output.into_iter().collect()
    }

    fn size(&self, case: &RoutingCase) -> Job {
        match case.capacities {
            None => Job::route(&case.grid, &case.nets),
            Some(_) => Job::negotiate(&case.nets),
        }
    }

    fn work(&self, engine: &Engine, case: &RoutingCase) -> trazar::Result<Found> {
        let (grid, nets) = (&case.grid, &case.nets);
        match (&case.capacities, &self.options) {
            (Some(capacities), _) => {
                let options = NegotiationOptions::default().rounds(self.args.rounds);
                let found = engine.negotiate(grid, capacities, nets, &options)?;
                Ok(Found::Competing(found))
            }
            (None, Some(options)) => Ok(Found::Independent(engine.route(grid, nets, options)?)),
            (None, None) => Ok(Found::Independent(engine.route_fewest_edges(grid, nets)?)),
        }
    }

    fn check(&self, case: &RoutingCase, found: &Found) -> Result<(), Failure> {
        if self.args.partial {
            return Ok(());
        }
        check_reached(self.input_path(), case, found.routes())
    }

    fn write(
        &self,
        format: RouteFormat,
        case: &mut RoutingCase,
        found: &Found,
        out: &mut dyn Write,
    ) -> trazar::Result<()> {
        let routes = found.routes();
        match format {
            RouteFormat::Txt => formats::write_routes_text(case, routes, out),
            RouteFormat::Json => formats::write_routes_json(case, routes, out),
            RouteFormat::Svg => formats::write_routes_svg(case, routes, out),
            RouteFormat::Png => match (found, &case.capacities) {
                (Found::Competing(found), Some(capacities)) => {
                    formats::write_congestion_png(&case.grid, capacities, &found.usage, out)
                }
                _ => formats::write_routes_png(case, routes, out),
            },
            RouteFormat::Route => formats::write_routes_ispd(case, routes, out),
        }
    }

    fn algorithm(&self, engine: &Engine, case: &RoutingCase) -> &'static str {
        if case.capacities.is_some() {
            return "negotiation";
        }
        match &self.options {
            Some(options) => engine.route_algorithm(options).name(),
            None => "breadth-first",
        }
    }

    fn input_facts(&self, case: &RoutingCase) -> Facts {
        input_facts(self.input_path(), case)
    }

    fn found_facts(&self, found: &Found) -> Facts {
        let facts = found_facts(self.args, found.routes());
        match found {
            Found::Independent(_) => facts,
            Found::Competing(found) => competing_facts(facts, found),
        }
    }

    fn list<'a>(
        &self,
        case: &'a RoutingCase,
        found: &'a Found,
    ) -> Option<(&'static str, impl Serialize + 'a)> {
        let routes = found.routes();
        Some(("routes", Trees { case, routes }))
    }
}

/// Refuses options that do not go together.
fn check(args: &RouteArgs) -> Result<(), Failure> {
    args.run.check()?;
    args.run.check_one_gpu("route")?;
    if args.tree_kind() == args::TreeKind::FewestEdges {
        if args.algorithm != args::RouteAlgorithm::Auto {
            return Err(Failure::usage(
                "--tree fewest-edges is found by breadth-first search: leave --algorithm out",
            ));
        }
        if args.turn_cost > 0 {
            return Err(Failure::usage(
                "--tree fewest-edges counts edges, not turns: leave --turn-cost out",
            ));
        }
    }
    output::check_not_beside_json(args.output.as_deref(), &args.run)?;
    let inputs = args.input.files();
    check_one_stdin(&inputs)?;
    check_distinct(&inputs, &[("-o", args.output.as_deref())])
}

/// Refuses options that do not go together with capacities, or without them.
fn check_competing(args: &RouteArgs, case: &RoutingCase) -> Result<(), Failure> {
    let refuse = |what| {
        Err(Failure::usage(format!(
            "{}: nets that compete for edges are routed by negotiation: leave {what} out",
            args.input.name().display()
        )))
    };
    if case.capacities.is_none() {
        return Ok(());
    }
    if args.algorithm != args::RouteAlgorithm::Auto {
        return refuse("--algorithm");
    }
    if args.improve.is_some() {
        return refuse("--improve");
    }
    if args.tree != args::TreeKind::Nearest {
        return refuse("--tree");
    }
    if args.turn_cost > 0 {
        return refuse("--turn-cost");
    }
    Ok(())
}

impl NetInputArgs {
    /// The files with the arguments that name them.
    fn files(&self) -> [Named<'_>; 6] {
        [
            ("NET", self.net.as_deref()),
            ("--nets", self.nets.as_deref()),
            ("--right", self.right.as_deref()),
            ("--down", self.down.as_deref()),
            ("--via", self.via.as_deref()),
            ("--pins", self.pins.as_deref()),
        ]
    }

    /// The file to name in messages about the nets.
    fn name(&self) -> &Path {
        let name = self.net.as_deref().or(self.pins.as_deref());
        name.unwrap_or(Path::new("-"))
    }
}

fn read(input: &NetInputArgs) -> Result<RoutingCase, Failure> {
    let about = |error| Failure::about(input.name(), error);
    if let (Some(grid), Some(nets)) = (&input.net, &input.nets) {
        // The error names its file.
        return formats::read_ispd(source(grid), source(nets)).map_err(about);
    }
    if let Some(net) = &input.net {
        return formats::read_case(source(net)).map_err(about);
    }
    let (Some(right), Some(down), Some(pins)) = (&input.right, &input.down, &input.pins) else {
        return Err(Failure::usage("give a NET, or --right, --down and --pins"));
    };
    let via = input.via.as_deref().map(source);
    let grid = formats::read_weights(source(right), source(down), via)
        .map_err(|error| Failure::about(right, error))?;
    let nets = formats::read_pins(source(pins), &grid).map_err(about)?;
    Ok(RoutingCase::new(grid, nets))
}

/// Refuses trees that do not reach all pins.
fn check_reached(name: &Path, case: &RoutingCase, routes: &[Route]) -> Result<(), Failure> {
    let mut apart = (0..)
        .zip(&case.nets)
        .zip(routes)
        .flat_map(|((i, net), route)| {
            let pins = route.unreached().iter();
            pins.map(move |&pin| (i, net, pin))
        });
    let Some((i, net, pin)) = apart.next() else {
        return Ok(());
    };
    let others = match apart.count() as u64 {
        0 => String::new(),
        others => format!(", nor {}", count(others, "other pin", "other pins")),
    };
    let of_net = match case.nets.len() {
        1 => String::new(),
        _ => format!(" of net {i}"),
    };
    Err(Failure::Failed(format!(
        "{}: no path reaches pin {pin}{of_net} at {} from pin 0 at {}{others}: blocked edges keep \
         them apart; nothing was written (--partial leaves such pins out)",
        name.display(),
        net.pins[pin].cells[0],
        net.pins[0].cells[0],
    )))
}

/// The summary's facts about the grid and its nets.
fn input_facts(name: &Path, case: &RoutingCase) -> Facts {
    let grid = &case.grid;
    let layers = match grid.layers() {
        1 => String::new(),
        layers => format!(" in {layers} layers"),
    };
    let pins: u64 = case.nets.iter().map(|net| net.pins.len() as u64).sum();
    let nets = match case.nets.len() as u64 {
        1 => String::new(),
        nets => format!("{} of ", count(nets, "net", "nets")),
    };
    Facts {
        text: format!(
            "{}: {} × {} cells{layers}, {nets}{}",
            name.display(),
            grid.width(),
            grid.height(),
            count(pins, "pin", "pins"),
        ),
        values: json!({
            "net": name.display().to_string(),
            "width": grid.width(),
            "height": grid.height(),
            "layers": grid.layers(),
            "nets": case.nets.len(),
            "pins": pins,
        }),
    }
}

/// The summary's facts about the trees.
fn found_facts(args: &RouteArgs, routes: &[Route]) -> Facts {
    let cost: u128 = routes.iter().map(|route| u128::from(route.cost())).sum();
    let unreached: u64 = routes
        .iter()
        .map(|route| route.unreached().len() as u64)
        .sum();
    let cells: u64 = routes.iter().map(|route| route.cells().len() as u64).sum();
    let apart = match unreached {
        0 => String::new(),
        pins => format!(", {} unreached", count(pins, "pin", "pins")),
    };
    // Other reasons lie in the net, so another run would have the same result.
    let no_memory = |route: &&Route| {
        let fallback = route.field_use().and_then(|used| used.fallback);
        fallback == Some(Fallback::OutOfMemory)
    };
    let short = match routes.iter().filter(no_memory).count() as u64 {
        0 => String::new(),
        nets => format!(
            ", {} in tiles since the GPU had no memory for fields",
            count(nets, "net", "nets")
        ),
    };
    Facts {
        text: format!(
            "cost {cost}, {}{apart}{short}",
            count(cells, "cell", "cells")
        ),
        values: json!({
            // A float from 2⁶⁴ on; JSON readers represent such a number as one anyway.
            "cost": u64::try_from(cost).map_or_else(|_| json!(cost as f64), Value::from),
            "cells": cells,
            "unreached": unreached,
            "tree": args::name(&args.tree_kind()),
            "turn_cost": args.turn_cost,
        }),
    }
}

/// The facts about trees, with those about the edges for which they compete.
fn competing_facts(mut facts: Facts, found: &Negotiated) -> Facts {
    let rounds = count(found.rounds.len() as u64, "round", "rounds");
    let (wires, vias) = (found.wire_length(), found.vias());
    let overflow = match found.overfull.first() {
        None => "no overflow".to_owned(),
        Some(first) => format!(
            "overflow {} on {}, the first from {} to {}, with {} for {}",
            found.overflow(),
            count(found.overfull.len() as u64, "edge", "edges"),
            first.from,
            first.to,
            count(first.usage.into(), "net", "nets"),
            first.capacity,
        ),
    };
    facts.text = format!(
        "{}, wire length {wires}, {}, {overflow} after {rounds}",
        facts.text,
        count(vias, "via", "vias"),
    );
    let place = |cell: trazar::Cell| [cell.x, cell.y, cell.layer];
    let overfull = found.overfull.iter().map(|edge| {
        json!({
            "from": place(edge.from),
            "to": place(edge.to),
            "usage": edge.usage,
            "capacity": edge.capacity,
        })
    });
    facts.values["overflow"] = json!(found.overflow());
    facts.values["overfull"] = overfull.collect();
    facts.values["rounds"] = json!(found.rounds.len());
    facts.values["vias"] = json!(vias);
    facts.values["wire_length"] = json!(wires);
    facts
}

/// Each net and its tree, as listed in the summary for scripts.
struct Trees<'a> {
    case: &'a RoutingCase,
    routes: &'a [Route],
}

impl Serialize for Trees<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let each = self.case.nets.iter().zip(self.routes);
        serializer.collect_seq(each.map(|(net, route)| Tree {
            cells: route.cells().len(),
            cost: route.cost(),
            fields: route.field_use().map(|used| Fields {
                by_fields: used.by_fields,
                by_searches: used.by_searches,
                fallback: used.fallback.map(Fallback::name),
                in_tiles: used.in_tiles,
            }),
            pins: net.pins.len(),
            unreached: route.unreached(),
        }))
    }
}

/// A net and its tree.
#[derive(Serialize)]
struct Tree<'a> {
    cells: usize,
    cost: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Fields>,
    pins: usize,
    unreached: &'a [usize],
}

/// The numbers of pins by how they were joined, and why not all by fields.
#[derive(Serialize)]
struct Fields {
    by_fields: usize,
    by_searches: usize,
    fallback: Option<&'static str>,
    in_tiles: usize,
}

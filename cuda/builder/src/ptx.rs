//! A reader of PTX: its kernels, the functions that they call, and the contents of their code.

use std::collections::HashMap;

use crate::SourcePlace;

/// What the folder of the compiler's own library is called in messages.
pub(crate) const LIBRARY: &str = "/rust";

/// A function or kernel of a PTX module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_entry: bool,
    /// The parameters as declared, such as `.param .u32 k_param_0`.
    pub(crate) params: Vec<String>,
    /// Instructions that are barriers of the block.
    pub(crate) barriers: u32,
    /// Names of called functions, one per call.
    pub(crate) calls: Vec<String>,
    /// Whether an instruction works on double-precision numbers.
    pub(crate) uses_f64: bool,
    /// Bytes of local memory for the stack.
    pub(crate) stack: u32,
    /// The variables and functions that it takes the address of, or loads from.
    mentions: Vec<String>,
}

/// A PTX module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    functions: HashMap<String, Function>,
    /// The arrays in shared memory whose size a launch gives.
    dynamic_shared: Vec<String>,
    /// The `core::panic::Location`s among the variables.
    places: HashMap<String, SourcePlace>,
}

impl Module {
    /// Reads the functions that `ptx` defines.
    pub(crate) fn parse(ptx: &str) -> Self {
        let mut module = Self::default();
        let mut head = String::new();
        let mut variables = Vec::new();
        let mut current: Option<Function> = None;
        for line in ptx.lines() {
            let line = line.split("//").next().unwrap_or_default().trim_end();
            match &mut current {
                None if line == "{" => {
                    current = Function::from_head(&head);
                    head.clear();
                }
                None => {
                    head.push_str(line);
                    head.push('\n');
                    // A declaration or a variable, not the head of a body.
                    if line.ends_with(';') {
                        variables.extend(Variable::parse(&head));
                        module.dynamic_shared.extend(dynamic_shared(&head));
                        head.clear();
                    }
                }
                Some(_) if line == "}" => {
                    if let Some(function) = current.take() {
                        module.functions.insert(function.name.clone(), function);
                    }
                }
                Some(function) => function.read_instruction(line.trim()),
            }
        }
        module.places = places(&variables);
        module
    }

    /// The kernels, sorted by name.
    pub(crate) fn entries(&self) -> Vec<&Function> {
        let mut entries: Vec<_> = self
            .functions
            .values()
            .filter(|function| function.is_entry)
            .collect();
        entries.sort_by_key(|function| &function.name);
        entries
    }

    /// `name` and every function that it calls, directly or not; the names of those that have no
    /// body.
    pub(crate) fn reached<'a>(&'a self, name: &'a str) -> (Vec<&'a Function>, Vec<&'a str>) {
        let (mut bodies, mut undefined, mut next) =
            (Vec::<&Function>::new(), Vec::new(), vec![name]);
        while let Some(name) = next.pop() {
            if let Some(function) = self.functions.get(name) {
                if !bodies.iter().any(|seen| seen.name == function.name) {
                    bodies.push(function);
                    next.extend(function.calls.iter().map(String::as_str));
                }
            } else if !undefined.contains(&name) {
                undefined.push(name);
            }
        }
        (bodies, undefined)
    }

    /// Where `functions` can panic, as far as the places are arguments that they pass: sorted, and
    /// without those in `core`.
    pub(crate) fn panic_places(&self, functions: &[&Function]) -> Vec<SourcePlace> {
        let mentions = functions.iter().flat_map(|function| &function.mentions);
        let mut places: Vec<_> = mentions
            .filter_map(|name| self.places.get(name))
            .filter(|place| !place.file.starts_with(LIBRARY))
            .cloned()
            .collect();
        places.sort();
        places.dedup();
        places
    }

    /// Whether one of `functions` uses dynamic shared memory.
    pub(crate) fn uses_dynamic_shared(&self, functions: &[&Function]) -> bool {
        functions
            .iter()
            .flat_map(|function| &function.mentions)
            .any(|name| self.dynamic_shared.contains(name))
    }

    /// Barriers in `name` and, once per call, in what it calls.
    pub(crate) fn barriers(&self, name: &str) -> u32 {
        self.count_barriers(name, 0)
    }

    fn count_barriers(&self, name: &str, depth: usize) -> u32 {
        // More levels than functions mean a circle, which is refused elsewhere.
        let Some(function) = self
            .functions
            .get(name)
            .filter(|_| depth <= self.functions.len())
        else {
            return 0;
        };
        let called = function
            .calls
            .iter()
            .map(|callee| self.count_barriers(callee, depth + 1));
        called.fold(function.barriers, u32::saturating_add)
    }
}

impl Function {
    /// Reads name and parameters from the text before a body.
    fn from_head(head: &str) -> Option<Self> {
        let (is_entry, rest) = match (head.rsplit_once(".entry "), head.rsplit_once(".func ")) {
            (Some((_, rest)), _) => (true, rest),
            (None, Some((_, rest))) => (false, rest),
            (None, None) => return None,
        };
        let mut rest = rest.trim_start();
        // A function's result comes before its name, in parentheses.
        if rest.starts_with('(') {
            rest = rest.split_once(')')?.1.trim_start();
        }
        let end = rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let params = rest
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'))
            .map_or("", |(params, _)| params);
        let params = params
            .split(',')
            .map(|param| param.split_whitespace().collect::<Vec<_>>().join(" "));
        let params = params.filter(|param| !param.is_empty()).collect();
        Some(Self {
            name: name.to_owned(),
            is_entry,
            params,
            ..Self::default()
        })
    }

    fn read_instruction(&mut self, line: &str) {
        if line.starts_with(".local ") && line.contains("__local_depot") {
            let size = line
                .rsplit_once('[')
                .and_then(|(_, size)| size.split_once(']'))
                .and_then(|(size, _)| size.parse().ok());
            self.stack += size.unwrap_or(0);
            return;
        }
        if line.starts_with('.') {
            return;
        }
        let names = line.split(|c: char| !is_name_char(c));
        let names =
            names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
        self.mentions.extend(names.map(str::to_owned));
        // A predicate comes before the instruction.
        let instruction = match line.strip_prefix('@') {
            Some(rest) => rest
                .split_once(char::is_whitespace)
                .map_or("", |(_, rest)| rest.trim_start()),
            None => line,
        };
        let opcode = instruction
            .split(|c: char| c.is_whitespace() || c == ';')
            .next()
            .unwrap_or_default();
        if opcode.split('.').any(|part| part == "f64") {
            self.uses_f64 = true;
        }
        if (opcode.starts_with("bar.") || opcode.starts_with("barrier."))
            && !opcode.starts_with("bar.warp.")
        {
            self.barriers += 1;
        }
        if opcode == "call" || opcode.starts_with("call.") {
            let mut operands = instruction[opcode.len()..].trim_start();
            if operands.starts_with('(') {
                operands = operands
                    .split_once(')')
                    .map_or("", |(_, rest)| rest.trim_start_matches([',', ' ']));
            }
            let end = operands
                .find(|c: char| !is_name_char(c))
                .unwrap_or(operands.len());
            self.calls.push(operands[..end].to_owned());
        }
    }
}

/// The name of `.extern .shared .align 16 .b8 dynamic_shared[];`.
fn dynamic_shared(declaration: &str) -> Option<String> {
    // The file's header lines come before its first declaration.
    let line = declaration.lines().last()?;
    let declaration = line.trim().strip_prefix(".extern .shared ")?;
    let (head, _) = declaration.split_once("[]")?;
    let (_, name) = head.rsplit_once(' ')?;
    Some(name.to_owned())
}

/// A variable with initial values.
struct Variable {
    name: String,
    values: String,
}

impl Variable {
    /// Reads `.global .align 1 .b8 name[3] = {97, 98, 99};`.
    fn parse(declaration: &str) -> Option<Self> {
        let declaration = declaration.trim().strip_prefix(".global ")?;
        let (head, values) = declaration.split_once(" = {")?;
        let (values, _) = values.split_once('}')?;
        let (head, _) = head.rsplit_once('[')?;
        let (_, name) = head.rsplit_once(' ')?;
        Some(Self {
            name: name.to_owned(),
            values: values.to_owned(),
        })
    }

    fn numbers<T: std::str::FromStr>(&self) -> Option<Vec<T>> {
        let numbers = self.values.split(',').map(|number| number.trim().parse());
        numbers.collect::<Result<_, _>>().ok()
    }
}

/// The variables that are a `core::panic::Location`: `{generic(FILE), LENGTH, LINE_AND_COLUMN}`,
/// where `FILE` has the path's bytes and may end in a zero byte.
fn places(variables: &[Variable]) -> HashMap<String, SourcePlace> {
    let place = |variable: &Variable| {
        let [file, length, line_and_column] = variable
            .values
            .split(", ")
            .collect::<Vec<_>>()
            .try_into()
            .ok()?;
        let file = file.strip_prefix("generic(")?.strip_suffix(')')?;
        let file = variables.iter().find(|other| other.name == file)?;
        let mut path = file.numbers::<u8>()?;
        path.truncate(length.parse().ok()?);
        let line_and_column: u64 = line_and_column.parse().ok()?;
        Some(SourcePlace {
            file: String::from_utf8(path).ok()?,
            line: line_and_column as u32,
            column: (line_and_column >> 32) as u32,
        })
    };
    variables
        .iter()
        .filter_map(|variable| Some((variable.name.clone(), place(variable)?)))
        .collect()
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "
.version 6.3
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 dynamic_shared[];
.extern .func  (.param .b32 func_retval0) ext
(
	.param .b32 ext_param_0
)
;
.visible .func  (.param .b32 func_retval0) d(
	.param .b32 d_param_0
)
{
	.reg .b32 	%r<3>;
	call.uni (retval0), ext, (param0, param1);
	bar.sync 	0;
	ret;
}
.visible .entry k(
	.param .u32 k_param_0,
	.param .align 8 .b8 k_param_1[16]
)
.reqntid 256, 1, 1
{
	.local .align 8 .b8 	__local_depot0[48];
	.reg .f64 	%fd<3>;
	@%p1 bra 	$L__BB0_2;
	{ // callseq 1, 0
	call.uni (retval0), d, (param0);
	call.uni d, ();
	} // callseq 1
	bar.warp.sync 	-1;
	@%p1 barrier.red.popc.u32 	%r1, 0, %p2;
	trap; exit;
                                        // -- End function
}
";

    #[test]
    fn a_module_is_read() {
        let module = Module::parse(PTX);
        let [k] = module.entries()[..] else {
            panic!("one kernel")
        };
        assert_eq!(
            k.params,
            [".param .u32 k_param_0", ".param .align 8 .b8 k_param_1[16]"]
        );
        assert_eq!((k.barriers, k.stack, k.uses_f64), (1, 48, false));
        assert_eq!(module.barriers("k"), 3);
        let (bodies, undefined) = module.reached("k");
        assert_eq!(bodies.len(), 2);
        assert_eq!(undefined, ["ext"]);
        assert!(!module.uses_dynamic_shared(&bodies));
    }

    #[test]
    fn dynamic_shared_memory_is_seen_in_functions_that_are_called() {
        let ptx = PTX.replacen("bar.sync 	0;", "mov.b32 	%r1, dynamic_shared;", 1);
        let module = Module::parse(&ptx);
        assert!(module.uses_dynamic_shared(&module.reached("k").0));
        assert!(!module.uses_dynamic_shared(&module.entries()));
    }

    #[test]
    fn double_precision_is_seen_in_instructions() {
        let module =
            Module::parse(&PTX.replace("trap; exit;", "fma.rn.f64 	%fd1, %fd2, %fd2, %fd2;"));
        assert!(module.entries()[0].uses_f64);
    }

    #[test]
    fn the_place_of_a_panic_is_read() {
        let ptx = PTX.replace(
            "trap; exit;",
            "mov.b64 	%rd1, at_1;\n	st.param.b64 	[p], at_2;",
        ) + ".global .align 1 .b8 file_1[11] = {115, 114, 99, 47, 97, 46, 114, 115};\n\
               .global .align 1 .b8 file_2[6] = {47, 114, 117, 115, 116, 47};\n\
               .global .align 8 .u64 at_1[3] = {generic(file_1), 8, 103079215109};\n\
               .global .align 8 .u64 at_2[3] = {generic(file_2), 6, 4294967297};\n\
               .global .align 8 .u64 at_3[3] = {generic(file_1), 8, 4294967297};\n";
        let module = Module::parse(&ptx);
        let (bodies, _) = module.reached("k");
        let expected = SourcePlace {
            file: "src/a.rs".into(),
            line: 5,
            column: 24,
        };
        assert_eq!(module.panic_places(&bodies), [expected]);
    }
}

//! Rules for Rust sources.

use super::files::File;

/// Lines of a file of Rust that nobody generated.
const MAX_LINES: usize = 600;

/// Where `unsafe` may stand, in files that expect it by name.
const KERNELS: &[&str] = &["crates/lance-encoding/src/kernel/", "crates/lance-encoding/src/kernel.rs"];
/// The attribute that such a file opens with.
const EXPECTATION: &str = "expect(unsafe_code";

/// Names that sources below a directory must not use, and why.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    ("crates/lance-encoding/src/", &["std::fs", "std::env"], "encodings do no I/O"),
    ("crates/lance-footer/src/", &["std::fs", "std::env"], "the container does no I/O"),
    ("crates/lance-io/src/", &["std::env"], "only the command reads the environment"),
    ("crates/lance-file/src/", &["std::env"], "only the command reads the environment"),
    ("crates/lance-table/src/", &["std::env"], "only the command reads the environment"),
    ("crates/demilance/src/", &["std::env"], "only the command reads the environment"),
];

/// Problems of the Rust sources and the manifests among `files`.
pub(crate) fn check(files: &[File]) -> Vec<String> {
    let mut problems = vec![];
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        if !file.path.contains("/generated/") {
            check_length(file, &mut problems);
        }
        if file.path.ends_with("/mod.rs") {
            problems.push(format!("{}: modules are foo.rs with foo/, not mod.rs", file.path));
        }
        // This crate names what it looks for.
        if !file.path.starts_with("xtask/") {
            check_unsafe(file, &mut problems);
            check_names(file, &mut problems);
        }
    }
    check_lints(files, &mut problems);
    problems
}

fn check_length(file: &File, problems: &mut Vec<String>) {
    let lines = file.text.lines().count();
    if lines > MAX_LINES {
        problems.push(format!("{}: {lines} lines, at most {MAX_LINES}: split it by concept", file.path));
    }
}

fn check_unsafe(file: &File, problems: &mut Vec<String>) {
    let uses = || (1..).zip(file.text.lines()).filter(|(_, line)| has_word(code(line), "unsafe"));
    if KERNELS.iter().any(|kernel| file.path.starts_with(kernel)) {
        if uses().next().is_some() && !file.text.contains(EXPECTATION) {
            problems.push(format!("{}: unsafe without #[{EXPECTATION}, reason = …)]", file.path));
        }
    } else {
        problems.extend(uses().map(|(number, _)| format!("{}:{number}: unsafe outside a kernel", file.path)));
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        if code(line).contains("allow(unsafe_code") {
            problems
                .push(format!("{}:{number}: unsafe code is expected with a reason, not allowed", file.path));
        }
    }
}

fn check_names(file: &File, problems: &mut Vec<String>) {
    for (directory, names, why) in FORBIDDEN {
        if !file.path.starts_with(directory) {
            continue;
        }
        for (number, line) in (1..).zip(file.text.lines()) {
            for name in names.iter().filter(|name| code(line).contains(**name)) {
                problems.push(format!("{}:{number}: {name}, but {why}", file.path));
            }
        }
    }
}

/// Every crate either forbids `unsafe` itself or takes the lints of the workspace, which deny it.
fn check_lints(files: &[File], problems: &mut Vec<String>) {
    let find = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let workspace_denies = find("Cargo.toml").is_some_and(|text| text.contains("unsafe_code = \"deny\""));
    if !workspace_denies {
        problems.push("Cargo.toml: the lints of the workspace do not deny unsafe_code".into());
    }
    for manifest in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let Some(directory) = manifest.path.strip_suffix("/Cargo.toml") else { continue };
        let inherits = manifest.text.replace(' ', "").contains("[lints]\nworkspace=true");
        let forbids = ["src/lib.rs", "src/main.rs"].iter().any(|root| {
            find(&format!("{directory}/{root}")).is_some_and(|text| text.contains("forbid(unsafe_code)"))
        });
        // Workspaces of their own, such as that of the fuzz targets, build no part of a published crate.
        if !inherits && !forbids && !manifest.text.contains("[workspace]") {
            problems.push(format!("{}: neither inherits the lints nor forbids unsafe_code", manifest.path));
        }
    }
}

/// `line` without comments and without what stands in quotes. Good for one line; a text over several lines
/// that says `unsafe` would be found, which does no harm.
fn code(line: &str) -> &str {
    let mut quoted = false;
    let mut before = '\0';
    for (at, char) in line.char_indices() {
        match char {
            '"' if before != '\\' && before != '\'' => quoted = !quoted,
            '/' if before == '/' && !quoted => return line.get(..at - 1).unwrap_or_default(),
            _ => {}
        }
        before = char;
    }
    line
}

/// Whether `word` stands in `line` outside of quotes, by itself.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let (before, rest) = line.split_at(at);
        let part_of_name = |char: char| char.is_alphanumeric() || char == '_';
        let alone = !before.chars().next_back().is_some_and(part_of_name)
            && !rest.chars().nth(word.len()).is_some_and(part_of_name);
        alone && before.matches('"').count() % 2 == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Problems of one file in a workspace that is otherwise fine.
    fn problems(path: &str, text: &str) -> Vec<String> {
        check(&[File::new("Cargo.toml", "unsafe_code = \"deny\""), File::new(path, text)])
    }

    #[test]
    fn unsafe_stands_only_in_kernels_that_expect_it() {
        let block = "fn f() { unsafe { g() } }";
        assert_eq!(problems("crates/lance-io/src/a.rs", block).len(), 1);
        assert_eq!(problems("crates/lance-encoding/src/kernel/a.rs", block).len(), 1);
        let expected = format!("#![expect(unsafe_code, reason = \"fast\")]\n{block}");
        assert_eq!(problems("crates/lance-encoding/src/kernel/a.rs", &expected), Vec::<String>::new());
        assert_eq!(problems("crates/lance-io/src/a.rs", "#![allow(unsafe_code)]").len(), 1);
    }

    #[test]
    fn the_word_unsafe_elsewhere_is_fine() {
        for line in ["// unsafe", "let a = 1; // unsafe", "#![forbid(unsafe_code)]", "let a = \"unsafe\";"] {
            assert_eq!(problems("crates/lance-io/src/a.rs", line), Vec::<String>::new(), "{line}");
        }
        assert_eq!(problems("crates/lance-io/src/a.rs", "let a = \"//\"; unsafe {}").len(), 1);
    }

    #[test]
    fn encodings_name_no_files() {
        assert_eq!(problems("crates/lance-encoding/src/a.rs", "use std::fs::File;").len(), 1);
        assert_eq!(problems("crates/lance-encoding/src/a.rs", "// not std::fs"), Vec::<String>::new());
        assert_eq!(problems("crates/lance-io/src/a.rs", "use std::fs::File;"), Vec::<String>::new());
    }

    #[test]
    fn long_files_are_found_unless_generated() {
        let text = "\n".repeat(MAX_LINES + 1);
        assert_eq!(problems("crates/a/src/b.rs", &text).len(), 1);
        assert_eq!(problems("crates/a/src/generated/b.rs", &text), Vec::<String>::new());
        assert_eq!(problems("crates/a/src/b/mod.rs", "").len(), 1);
    }

    #[test]
    fn every_crate_denies_unsafe() {
        let manifest = "crates/a/Cargo.toml";
        assert_eq!(problems(manifest, "[package]").len(), 1);
        assert_eq!(problems(manifest, "[lints]\nworkspace = true"), Vec::<String>::new());
        assert_eq!(problems(manifest, "[workspace]"), Vec::<String>::new());
        let files = [
            File::new("Cargo.toml", "unsafe_code = \"deny\""),
            File::new(manifest, ""),
            File::new("crates/a/src/lib.rs", "#![forbid(unsafe_code)]"),
        ];
        assert_eq!(check(&files), Vec::<String>::new());
        assert_eq!(check(&[]).len(), 1);
    }
}

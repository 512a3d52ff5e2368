//! Which crate may depend on which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand, PackageId, TargetKind};

/// What a crate of ours may and must not use.
struct Rule {
    package: &'static str,
    /// Packages of ours that it may depend on.
    ours: &'static [&'static str],
    /// External packages that must not be anywhere below it. A trailing `*` stands for any ending.
    never: &'static [&'static str],
}

const ARROW: &[&str] = &["arrow", "arrow-*"];
const ASYNC: &[&str] = &["tokio", "futures", "futures-*", "object_store", "async-*"];
const ARROW_AND_ASYNC: &[&str] =
    &["arrow", "arrow-*", "tokio", "futures", "futures-*", "object_store", "async-*"];

/// The arrows of ARCHITECTURE.md. A crate that is not here is a problem, so that a new one gets its line.
const RULES: &[Rule] = &[
    Rule { package: "demilance-footer", ours: &[], never: ARROW_AND_ASYNC },
    Rule { package: "demilance-encoding", ours: &["demilance-footer"], never: ASYNC },
    Rule { package: "demilance-io", ours: &["demilance-footer"], never: ARROW },
    Rule {
        package: "demilance-file",
        ours: &["demilance-footer", "demilance-encoding", "demilance-io"],
        never: &[],
    },
    Rule {
        package: "demilance-table",
        ours: &["demilance-footer", "demilance-io", "demilance-file"],
        never: &[],
    },
    Rule { package: "fory-row", ours: &["fory-row-derive"], never: ASYNC },
    Rule { package: "fory-row-derive", ours: &[], never: ARROW_AND_ASYNC },
    Rule {
        package: "demilance",
        ours: &[
            "demilance-footer",
            "demilance-encoding",
            "demilance-io",
            "demilance-file",
            "demilance-table",
            "fory-row",
        ],
        // What only the command needs stays in the command.
        never: &["clap", "clap_*", "parquet", "arrow-csv", "arrow-json", "indicatif", "datafusion*"],
    },
    Rule { package: "demilance-cli", ours: &["demilance"], never: &[] },
];

/// External packages that no published crate has anywhere below it: the umbrella pulls in all of Arrow, the
/// time zone tables are large.
const NEVER_ANYWHERE: &[&str] = &["arrow", "chrono-tz", "lance", "lance-*"];

/// Of one package of the workspace, what the rules are about.
#[derive(Default)]
pub(crate) struct Package {
    name: String,
    published: bool,
    has_build_script: bool,
    /// Its own normal dependencies.
    direct: BTreeSet<String>,
    /// External packages below it, through normal dependencies.
    below: BTreeSet<String>,
}

/// Asks cargo about the workspace at `root`.
pub(crate) fn load(root: &Path) -> Result<Vec<Package>> {
    // Other platforms have dependencies of their own, which are not ours to choose.
    let options = ["--locked", "--filter-platform", "x86_64-unknown-linux-gnu"].map(String::from);
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("Cargo.toml")).other_options(options);
    let metadata = command.exec().context("running cargo metadata")?;
    let names: BTreeMap<&PackageId, &str> =
        metadata.packages.iter().map(|package| (&package.id, package.name.as_str())).collect();
    let nodes = metadata.resolve.as_ref().map(|resolve| resolve.nodes.as_slice()).unwrap_or_default();
    let mut edges: BTreeMap<&PackageId, Vec<&PackageId>> = BTreeMap::new();
    for node in nodes {
        let normal = node
            .deps
            .iter()
            .filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal))
            .map(|dep| &dep.pkg);
        edges.insert(&node.id, normal.collect());
    }

    let members: BTreeSet<&PackageId> = metadata.workspace_members.iter().collect();
    let packages = metadata.workspace_packages().into_iter().map(|package| {
        let below = reachable(&package.id, &edges);
        Package {
            name: package.name.to_string(),
            published: package.publish.as_ref().is_none_or(|registries| !registries.is_empty()),
            has_build_script: package
                .targets
                .iter()
                .any(|target| target.kind.contains(&TargetKind::CustomBuild)),
            direct: package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind == DependencyKind::Normal)
                .map(|dependency| dependency.name.clone())
                .collect(),
            below: below
                .into_iter()
                .filter(|id| !members.contains(id))
                .filter_map(|id| names.get(id).map(ToString::to_string))
                .collect(),
        }
    });
    Ok(packages.collect())
}

fn reachable<'a>(
    from: &'a PackageId,
    edges: &BTreeMap<&'a PackageId, Vec<&'a PackageId>>,
) -> BTreeSet<&'a PackageId> {
    let mut seen = BTreeSet::new();
    let mut queue = vec![from];
    while let Some(id) = queue.pop() {
        for next in edges.get(id).into_iter().flatten() {
            if seen.insert(*next) {
                queue.push(next);
            }
        }
    }
    seen
}

/// The rules that `packages` break.
pub(crate) fn check(packages: &[Package]) -> Vec<String> {
    let ours: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    packages
        .iter()
        .filter(|package| package.published)
        .flat_map(|package| check_one(package, &ours))
        .collect()
}

fn check_one(package: &Package, ours: &BTreeSet<&str>) -> Vec<String> {
    let name = &package.name;
    let mut problems = vec![];
    if package.has_build_script {
        problems.push(format!("{name}: a published crate has no build script"));
    }
    let Some(rule) = RULES.iter().find(|rule| rule.package == name) else {
        problems.push(format!("{name}: no line in the table of arrows (xtask/src/tidy/arrows.rs)"));
        return problems;
    };
    for dependency in &package.direct {
        if ours.contains(dependency.as_str()) && !rule.ours.contains(&dependency.as_str()) {
            problems.push(format!("{name}: must not depend on {dependency}"));
        }
    }
    for dependency in package.below.union(&package.direct) {
        if ours.contains(dependency.as_str()) {
            continue;
        }
        if rule.never.iter().chain(NEVER_ANYWHERE).any(|pattern| fits(pattern, dependency)) {
            problems.push(format!("{name}: must not have {dependency} below it"));
        }
    }
    problems
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(name == pattern, |start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, direct: &[&str], below: &[&str]) -> Package {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Package {
            name: name.into(),
            published: true,
            direct: owned(direct),
            below: owned(below),
            ..Default::default()
        }
    }

    #[test]
    fn arrows_that_point_down_are_fine() {
        let packages = [
            package("demilance-footer", &["bytes"], &["bytes"]),
            package("demilance-encoding", &["demilance-footer", "arrow-array"], &["arrow-array", "bytes"]),
            package("demilance-io", &["demilance-footer", "tokio"], &["tokio", "bytes"]),
        ];
        assert_eq!(check(&packages), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_named() {
        let packages = [
            package("demilance-footer", &["demilance-io"], &[]),
            package("demilance-io", &[], &[]),
            package("demilance-cli", &["demilance-footer"], &[]),
        ];
        let expected = [
            "demilance-footer: must not depend on demilance-io",
            "demilance-cli: must not depend on demilance-footer",
        ];
        assert_eq!(check(&packages), expected);
    }

    #[test]
    fn what_must_not_be_below_is_found_however_deep() {
        let packages = [
            package("demilance-footer", &[], &["arrow-buffer"]),
            package("demilance-encoding", &[], &["futures-core"]),
            package("demilance", &[], &["chrono-tz", "arrow-array"]),
            package("demilance-cli", &[], &["arrow"]),
        ];
        let expected = [
            "demilance-footer: must not have arrow-buffer below it",
            "demilance-encoding: must not have futures-core below it",
            "demilance: must not have chrono-tz below it",
            "demilance-cli: must not have arrow below it",
        ];
        assert_eq!(check(&packages), expected);
    }

    #[test]
    fn new_crates_and_build_scripts_are_found_in_published_crates_only() {
        let script = Package { has_build_script: true, ..package("demilance-footer", &[], &[]) };
        let private = Package { published: false, has_build_script: true, ..package("private", &[], &[]) };
        let problems = check(&[script, private, package("new", &[], &[])]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("no build script"));
        assert!(problems[1].starts_with("new: no line"));
    }
}

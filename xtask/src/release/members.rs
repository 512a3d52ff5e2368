//! The packages of the workspace: whether each may go to a registry, and in which order.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::{Version, VersionReq};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, TargetKind};

/// The text of the license, which goes with every copy of the software.
const LICENSE: &str = "LICENSE";

/// One package of the workspace.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) published: bool,
    /// Whether others link it, so that it has a public API. Procedural macros and commands have none.
    pub(crate) is_library: bool,
    /// Packages of this repository that a registry has to have before it.
    pub(crate) needs: BTreeSet<String>,
    /// What of the manifest or beside it is missing.
    missing: Vec<&'static str>,
}

/// Asks cargo about the workspace at `root`. Nothing is resolved, so this needs no network.
pub(crate) fn load(root: &Path) -> Result<Vec<Member>> {
    let metadata = metadata(root)?;
    let packages = metadata.workspace_packages();
    let names: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    Ok(packages.into_iter().map(|package| member(package, &names)).collect())
}

/// Where cargo builds what is at `root`.
pub(crate) fn target_directory(root: &Path) -> Result<cargo_metadata::camino::Utf8PathBuf> {
    Ok(metadata(root)?.target_directory)
}

fn metadata(root: &Path) -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("Cargo.toml")).no_deps();
    command.exec().with_context(|| format!("running cargo metadata in {}", root.display()))
}

fn member(package: &Package, names: &BTreeSet<&str>) -> Member {
    // cargo leaves development dependencies without a version out of a package; with one, the registry wants them.
    let needed = package.dependencies.iter().filter(|dependency| {
        names.contains(dependency.name.as_str())
            && dependency.path.is_some()
            && (dependency.kind != DependencyKind::Development || dependency.req != VersionReq::STAR)
    });
    Member {
        name: package.name.to_string(),
        version: package.version.clone(),
        published: package.publish.as_ref().is_none_or(|registries| !registries.is_empty()),
        is_library: package.targets.iter().any(|target| target.kind.contains(&TargetKind::Lib)),
        needs: needed.map(|dependency| dependency.name.clone()).collect(),
        missing: missing(package),
    }
}

fn missing(package: &Package) -> Vec<&'static str> {
    let directory = package.manifest_path.parent();
    let exists = |file: &str| directory.is_some_and(|directory| directory.join(file).exists());
    let present = [
        ("description", package.description.is_some()),
        ("license", package.license.is_some()),
        ("repository", package.repository.is_some()),
        ("readme that is there", package.readme.as_ref().is_some_and(|readme| exists(readme.as_str()))),
        ("LICENSE beside its Cargo.toml: a symbolic link does", exists(LICENSE)),
    ];
    present.into_iter().filter(|(_, is_there)| !is_there).map(|(what, _)| what).collect()
}

/// Why the packages among `members` that are to be published cannot be, or not as `version`.
pub(crate) fn check(members: &[Member], version: &Version) -> Vec<String> {
    let mut problems = vec![];
    for member in members.iter().filter(|member| member.published) {
        let name = &member.name;
        problems.extend(member.missing.iter().map(|what| format!("{name} has no {what}")));
        if member.version != *version {
            let own = &member.version;
            problems.push(format!(
                "{name} has the version {own}, not {version}: let it inherit that of the workspace"
            ));
        }
        let private = |name: &&String| members.iter().any(|other| other.name == **name && !other.published);
        for need in member.needs.iter().filter(private) {
            problems.push(format!("{name} is published but needs {need}, which is not"));
        }
    }
    if let Err(error) = order(members) {
        problems.push(error.to_string());
    }
    problems
}

/// The packages to be published, each after those that it needs; by name where that leaves a choice.
pub(crate) fn order(members: &[Member]) -> Result<Vec<&Member>> {
    let mut waiting: Vec<&Member> = members.iter().filter(|member| member.published).collect();
    waiting.sort_by(|a, b| a.name.cmp(&b.name));
    let mut ordered = vec![];
    while !waiting.is_empty() {
        let blocked = |member: &Member| waiting.iter().any(|other| member.needs.contains(&other.name));
        let Some(next) = waiting.iter().position(|member| !blocked(member)) else {
            let names: Vec<&str> = waiting.iter().map(|member| member.name.as_str()).collect();
            bail!(
                "among {} each needs another one: give development dependencies a path and no version",
                names.join(", ")
            );
        };
        ordered.push(waiting.remove(next));
    }
    Ok(ordered)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn package(name: &str, needs: &[&str]) -> Member {
        Member {
            name: name.into(),
            version: Version::new(0, 1, 0),
            published: true,
            is_library: true,
            needs: needs.iter().map(ToString::to_string).collect(),
            missing: vec![],
        }
    }

    fn problems(members: &[Member]) -> Vec<String> {
        check(members, &Version::new(0, 1, 0))
    }

    #[test]
    fn packages_come_after_what_they_need() {
        let members = [
            package("demilance", &["demilance-io", "fory-row"]),
            package("fory-row", &["fory-row-derive"]),
            package("demilance-io", &["demilance-footer"]),
            package("fory-row-derive", &[]),
            Member { published: false, ..package("tests", &["demilance"]) },
            package("demilance-footer", &[]),
        ];
        let names: Vec<&str> = order(&members).unwrap().iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["demilance-footer", "demilance-io", "fory-row-derive", "fory-row", "demilance"]);
        assert_eq!(problems(&members), Vec::<String>::new());
    }

    #[test]
    fn a_circle_is_named() {
        let members = [package("a", &["b"]), package("b", &["a"]), package("c", &[])];
        let error = order(&members).err().unwrap().to_string();
        assert!(error.starts_with("among a, b each"), "{error}");
        assert_eq!(problems(&members).len(), 1);
    }

    #[test]
    fn what_is_published_is_complete_and_needs_nothing_private() {
        let private = Member { published: false, missing: vec!["readme"], ..package("private", &[]) };
        let members = [
            private,
            package("a", &["private"]),
            Member { missing: vec!["readme"], ..package("b", &[]) },
            Member { version: Version::new(0, 3, 0), ..package("c", &[]) },
        ];
        let expected = [
            "a is published but needs private, which is not",
            "b has no readme",
            "c has the version 0.3.0, not 0.1.0: let it inherit that of the workspace",
        ];
        assert_eq!(problems(&members), expected);
    }
}

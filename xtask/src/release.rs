//! What has to hold before a version goes out. Nothing here publishes, tags or pushes.

mod api;
mod bump;
mod changelog;
mod git;
mod members;
mod package;
mod version;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::Version;
use tempfile::TempDir;

use bump::Bump;
use changelog::CHANGELOG;
use members::Member;
use version::{Step, Tags};

/// Checks that the committed tree can go out as `next`. Unless `dry_run`, writes that version into the working tree and
/// says what to type then.
pub(crate) fn run(root: &Path, next: &Version, dry_run: bool) -> Result<()> {
    let started = Instant::now();
    let candidate = Candidate::new(root, next)?;
    candidate.refuse(dry_run)?;
    let files = git::manifests(root)?;
    let written = candidate.bump(&candidate.tree, &files)?;
    let members = members::load(&candidate.tree)?;
    if let Some(problem) = members::check(&members, next).first() {
        bail!("after the bump: {problem}");
    }
    say(&match written {
        0 => format!("bump: the version is {next} already"),
        _ => format!("bump: {} to {next} in {written} manifests and lock files of a copy", candidate.current),
    });
    let order = members::order(&members)?;
    package::clean(&candidate.tree, &order, &candidate.target)?;
    candidate.compare_api()?;

    let names: Vec<&str> = order.iter().map(|member| member.name.as_str()).collect();
    say(&format!("package: {}", names.join(", ")));
    package::package(&candidate.tree, &order, &candidate.target)?;
    let unpacked = package::unpack(&order, &candidate.tree.join("Cargo.lock"), &candidate.target)?;
    for (number, member) in (1..).zip(&order) {
        say(&format!("build {number} of {} from its package: {}", order.len(), member.name));
        package::build(&unpacked, member, &candidate.target)?;
    }

    let seconds = started.elapsed().as_secs();
    say(&format!("{next} can go out: {} packages, checked in {seconds} s", order.len()));
    if dry_run {
        say("a dry run: nothing was changed");
        return Ok(());
    }
    let written = candidate.bump(root, &files)?;
    say(&format!("{written} manifests and lock files changed"));
    println!("{}", commands(next, &names, written > 0));
    Ok(())
}

/// The committed tree in a directory of its own, on its way to a release.
struct Candidate<'a> {
    root: &'a Path,
    next: &'a Version,
    /// The version that it has, and its packages before the bump.
    current: Version,
    members: Vec<Member>,
    tags: Tags,
    tree: PathBuf,
    /// Kept from run to run, so that only what changed is built.
    target: PathBuf,
    /// Holds `tree` and is removed in the end.
    scratch: TempDir,
}

impl<'a> Candidate<'a> {
    fn new(root: &'a Path, next: &'a Version) -> Result<Self> {
        let scratch = tempfile::tempdir().context("making a directory for the copy")?;
        let tree = scratch.path().join("tree");
        git::export(root, "HEAD", &tree)?;
        let manifest = fs::read_to_string(tree.join("Cargo.toml")).context("reading Cargo.toml")?;
        Ok(Self {
            root,
            next,
            current: bump::current(&manifest)?,
            members: members::load(&tree)?,
            tags: git::tags(root)?,
            target: members::target_directory(root)?.into_std_path_buf().join("release-check"),
            tree,
            scratch,
        })
    }

    /// Fails when something is wrong that shows before anything is built, and says all of it.
    fn refuse(&self, dry_run: bool) -> Result<()> {
        let dirty = git::is_dirty(self.root)?;
        if dirty && dry_run {
            say("what is not committed takes no part in this dry run");
        }
        let problems = self.problems(dirty && !dry_run);
        for problem in &problems {
            eprintln!("release: {problem}");
        }
        match problems.len() {
            0 => say(&format!("{}, the changelog and the manifests are in order", self.next)),
            1 => bail!("{} cannot go out: 1 problem", self.next),
            count => bail!("{} cannot go out: {count} problems", self.next),
        }
        Ok(())
    }

    fn problems(&self, is_dirty: bool) -> Vec<String> {
        let mut problems = version::check(self.next, &self.current, &self.tags);
        if is_dirty {
            problems.push("there are changes that are not committed".into());
        }
        let changelog = fs::read_to_string(self.tree.join(CHANGELOG)).unwrap_or_default();
        problems.extend(changelog::check(&changelog, self.next));
        problems.extend(members::check(&self.members, &self.current));
        if self.baseline().is_some_and(|(_, step)| step != Step::Major) && !api::is_installed() {
            problems.push(format!("nothing is there to compare the public API with: {}", api::INSTALL));
        }
        problems
    }

    fn bump(&self, root: &Path, files: &[String]) -> Result<usize> {
        let published = self.members.iter().filter(|member| member.published);
        let packages: BTreeSet<&str> = published.map(|member| member.name.as_str()).collect();
        Bump { packages, from: &self.current, to: self.next }.apply(root, files)
    }

    /// The release that the API is compared with, and how far the next one is from it.
    fn baseline(&self) -> Option<(&Version, Step)> {
        self.tags.last().map(|last| (last, Step::between(last, self.next)))
    }

    fn compare_api(&self) -> Result<()> {
        let Some((last, step)) = self.baseline() else {
            say("API: the first release, there is nothing to compare with");
            return Ok(());
        };
        if step == Step::Major {
            say(&format!("API: {last} to {} is a major step, everything may change", self.next));
            return Ok(());
        }
        let old = self.scratch.path().join("last");
        git::export(self.root, &format!("v{last}"), &old)?;
        let before: BTreeSet<String> = libraries(&members::load(&old)?).map(String::from).collect();
        let (known, new): (Vec<&str>, Vec<&str>) =
            libraries(&self.members).partition(|name| before.contains(*name));
        if !new.is_empty() {
            say(&format!("API: not in {last}, so nothing to compare with: {}", new.join(", ")));
        }
        if known.is_empty() {
            return Ok(());
        }
        say(&format!("API: {last} to {} is a {step} step: {}", self.next, known.join(", ")));
        api::compare(&old, &self.tree, &known, step, &self.target)
    }
}

fn libraries(members: &[Member]) -> impl Iterator<Item = &str> {
    members.iter().filter(|member| member.published && member.is_library).map(|member| member.name.as_str())
}

/// What a person types after a successful run.
fn commands(next: &Version, packages: &[&str], changed: bool) -> String {
    let packages: String = packages.iter().map(|name| format!(" --package {name}")).collect();
    let commit =
        if changed { format!("git commit --all --message \"Release {next}\"\n") } else { String::new() };
    format!(
        "To release it:\n\n{commit}\
         git tag --annotate v{next} --message \"Release {next}\"\n\
         cargo publish --locked{packages}\n\
         git push origin HEAD v{next}\n"
    )
}

fn say(line: &str) {
    println!("release: {line}");
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    static NEXT: Version = Version::new(0, 2, 0);

    fn git(root: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(root).args(["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]);
        assert!(
            git.args(["-c", "commit.gpgsign=false"]).args(args).output().unwrap().status.success(),
            "{args:?}"
        );
    }

    /// A repository of one package that can go out as 0.2.0.
    fn repository() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let manifest = "[package]\nname = \"a\"\ndescription = \"One\"\nlicense = \"Apache-2.0\"\n\
                        repository = \"https://example.org\"\nversion.workspace = true\nedition = \"2024\"\n";
        let files = [
            ("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n\n[workspace.package]\nversion = \"0.1.0\"\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n"),
            ("CHANGELOG.md", "# Changelog\n\n## 0.2.0 - 2001-12-31\n\n- new\n"),
            ("a/Cargo.toml", manifest),
            ("a/LICENSE", ""),
            ("a/README.md", ""),
            ("a/src/lib.rs", ""),
        ];
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for args in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--message", "First"]] {
            git(root.path(), args);
        }
        root
    }

    #[test]
    fn the_bump_of_a_dry_run_is_in_a_copy_of_what_is_committed() {
        let repository = repository();
        let root = repository.path();
        fs::write(root.join("stray"), "").unwrap();
        fs::write(root.join("CHANGELOG.md"), "").unwrap();
        let candidate = Candidate::new(root, &NEXT).unwrap();
        assert_eq!(candidate.problems(false), Vec::<String>::new());
        assert_eq!(candidate.problems(git::is_dirty(root).unwrap()).len(), 1);
        assert!(!candidate.tree.join("stray").exists());

        let files = git::manifests(root).unwrap();
        assert_eq!(files, ["Cargo.lock", "Cargo.toml", "a/Cargo.toml"]);
        assert_eq!(candidate.bump(&candidate.tree, &files).unwrap(), 2);
        assert_eq!(members::check(&members::load(&candidate.tree).unwrap(), &NEXT), Vec::<String>::new());
        for file in ["Cargo.toml", "Cargo.lock"] {
            assert!(fs::read_to_string(candidate.tree.join(file)).unwrap().contains("0.2.0"));
            assert!(fs::read_to_string(root.join(file)).unwrap().contains("0.1.0"));
        }
    }

    #[test]
    fn all_problems_are_said_at_once() {
        let repository = repository();
        let root = repository.path();
        git(root, &["tag", "v0.1.0"]);
        git(root, &["rm", "--quiet", "a/README.md", "CHANGELOG.md"]);
        git(root, &["commit", "--message", "Second"]);
        let next = Version::new(0, 1, 0);
        let candidate = Candidate::new(root, &next).unwrap();
        let problems = candidate.problems(true);
        assert!(problems[0].contains("v0.1.0"), "{problems:?}");
        assert!(problems[1].contains("not committed"), "{problems:?}");
        assert!(problems[2].contains("CHANGELOG.md has no entry for 0.1.0"), "{problems:?}");
        assert!(problems[3].contains("a has no readme"), "{problems:?}");
    }

    #[test]
    fn the_api_is_compared_with_the_last_tag() {
        let repository = repository();
        let root = repository.path();
        assert_eq!(Candidate::new(root, &NEXT).unwrap().baseline(), None);
        git(root, &["tag", "v0.1.0"]);
        git(root, &["tag", "v0.1.1"]);
        let baseline = Version::new(0, 1, 1);
        assert_eq!(Candidate::new(root, &NEXT).unwrap().baseline(), Some((&baseline, Step::Major)));
    }

    #[test]
    fn a_commit_is_asked_for_when_there_is_something_to_commit() {
        let next = Version::new(0, 2, 0);
        let expected = "To release it:\n\ngit commit --all --message \"Release 0.2.0\"\n\
                        git tag --annotate v0.2.0 --message \"Release 0.2.0\"\n\
                        cargo publish --locked --package a --package b\ngit push origin HEAD v0.2.0\n";
        assert_eq!(commands(&next, &["a", "b"], true), expected);
        assert!(!commands(&next, &["a", "b"], false).contains("commit"));
    }
}

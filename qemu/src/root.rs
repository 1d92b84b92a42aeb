//! Where the project lies, whatever folder the user is in.

use std::path::{Path, PathBuf};

use crate::{Failure, Result};

/// The project's root folder and the folders below it that the runner needs.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
}

impl Root {
    /// The folder above this package: where it was when the runner was built, or, if the project has moved since,
    /// where Cargo says it is.
    ///
    /// # Errors
    ///
    /// Neither holds the project.
    pub fn find() -> Result<Root> {
        let built_at = Path::new(env!("CARGO_MANIFEST_DIR"));
        let told = ["RINGO_ROOT", "CARGO_MANIFEST_DIR"]
            .into_iter()
            .filter_map(std::env::var_os)
            .map(PathBuf::from);
        let cwd = std::env::current_dir().ok();
        let candidates = told.chain([built_at.to_path_buf()]).chain(cwd);
        for start in candidates {
            for folder in start.ancestors() {
                if folder.join("demos/src/bin").is_dir() && folder.join("qemu/Cargo.toml").is_file()
                {
                    return Ok(Root {
                        path: folder.to_path_buf(),
                    });
                }
            }
        }
        Err(Failure::new(
            "the project's folder is not where it was when this tool was built; run it by `cargo run` there",
        ))
    }

    /// The root folder itself, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Programs that `cargo run -- NAME` finds.
    pub fn demos(&self) -> PathBuf {
        self.path.join("demos/src/bin")
    }

    /// Programs of ring 3 that `cargo run -- exec NAME` finds.
    pub fn user_programs(&self) -> PathBuf {
        self.path.join("userspace/programs/src/bin")
    }

    /// Cargo's target folder: `CARGO_TARGET_DIR`, or `target`.
    pub fn target(&self) -> PathBuf {
        match std::env::var_os("CARGO_TARGET_DIR") {
            Some(dir) if !dir.is_empty() => self.path.join(dir),
            _ => self.path.join("target"),
        }
    }

    /// Target folder of programs. For the host machine they lie beside those for the bare one, whose folder in it Cargo names after
    /// the target: what runs at compile time is then built for both at once.
    pub fn kernel_target(&self) -> PathBuf {
        self.target().join("kernel")
    }

    /// Target folder of ring-3 programs.
    pub fn user_target(&self) -> PathBuf {
        self.target().join("user")
    }
}

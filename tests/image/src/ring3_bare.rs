//! Ring 3 without processes: what the machine layer alone promises about the way in, the way out, and address spaces. The programs
//! are a few instructions each (`code.rs`), which the tests lay into pages of their own.

mod code;
mod cost;
mod ends;
mod forget;
mod registers;
mod steps;
mod turns;

use crate::Test;
use alloc::boxed::Box;
use arch::UserExit;
use arch::bare::{Access, Space, UserContext, direct};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// The tests of these files.
pub const TESTS: &[&[Test]] = &[
    cost::TESTS,
    ends::TESTS,
    forget::TESTS,
    registers::TESTS,
    steps::TESTS,
    turns::TESTS,
];

/// Where these programs have their code, their data and the end of their stack.
const CODE: u64 = 0x40_0000;
const DATA: u64 = 0x50_0000;
const STACK_TOP: u64 = 0x60_1000;

const READ: Access = Access {
    write: false,
    execute: false,
};
const WRITE: Access = Access {
    write: true,
    ..READ
};
const EXECUTE: Access = Access {
    execute: true,
    ..READ
};

/// An address space with a page of code, one of data, one of stack.
struct World {
    space: Option<Box<Space>>,
    /// Physical address of the data page.
    data: u64,
}

fn frame() -> u64 {
    mem::frames::alloc().expect("a frame")
}

impl World {
    fn new(code: &[u8]) -> World {
        let space = Box::new(Space::new(&mut mem::frames::alloc).expect("a frame"));
        let world = World {
            space: Some(space),
            data: frame(),
        };
        let text = frame();
        // SAFETY: fresh frames.
        unsafe {
            direct(text).write_bytes(0xcc, 4096);
            direct(text).copy_from_nonoverlapping(code.as_ptr(), code.len());
            direct(world.data).write_bytes(0, 4096);
        }
        world.map(CODE, text, EXECUTE);
        world.map(DATA, world.data, WRITE);
        world.map(STACK_TOP - 4096, frame(), WRITE);
        world
    }

    fn space(&self) -> &Space {
        self.space.as_deref().expect("there until it is dropped")
    }

    fn map(&self, virt: u64, phys: u64, access: Access) {
        // SAFETY: a frame of ours; each test changes its space from one goroutine.
        unsafe {
            self.space()
                .map(virt, phys, access, &mut mem::frames::alloc)
                .expect("a frame")
        }
    }

    /// A word of the data page.
    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: in the page, which stays as long as the world does.
        unsafe { &*direct(self.data).cast::<AtomicU64>().add(index) }
    }

    /// A thread that begins at `offset` of the code.
    fn thread(&self, offset: usize) -> Box<UserContext> {
        Box::new(UserContext::new(
            CODE + offset as u64,
            STACK_TOP - 8,
            [DATA, 7],
        ))
    }

    /// Runs it until it comes back; nobody stops it.
    fn run(&self, thread: &mut UserContext) -> UserExit {
        thread.run(self.space(), &AtomicU32::new(0))
    }

    /// Runs a new thread at `offset` until it comes back.
    fn once(&self, offset: usize) -> (UserExit, Box<UserContext>) {
        let mut thread = self.thread(offset);
        (self.run(&mut thread), thread)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(mut space) = self.space.take() {
            space.retire();
            // SAFETY: retired; frames that the space mapped and its tables are nobody else's.
            unsafe {
                space.take_all(&mut |_, frame| mem::frames::free(frame), &mut |table| {
                    mem::frames::free(table)
                })
            }
        }
    }
}

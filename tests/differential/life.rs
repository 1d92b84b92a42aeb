//! Conway's Life on a torus: each cell is a goroutine that talks to its eight neighbours.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const SIZE: usize = 8;
const GENERATIONS: u32 = 6;

const START: [&str; SIZE] = [
    ".#......", "..#.....", "###.....", "........", "........", ".....#..", ".....#..", ".....#..",
];

/// Down, right: what is added to a place, on the torus.
const AROUND: [(usize, usize); 8] = [
    (0, 1),
    (1, 1),
    (1, 0),
    (1, SIZE - 1),
    (0, SIZE - 1),
    (SIZE - 1, SIZE - 1),
    (SIZE - 1, 0),
    (SIZE - 1, 1),
];

struct Cell {
    alive: bool,
    incoming: Vec<Receiver<bool>>,
    outgoing: Vec<Sender<bool>>,
    show: Sender<bool>,
}

impl Cell {
    /// Until nobody looks any more.
    fn live(mut self) {
        while self.show.send(self.alive).is_ok() {
            for to in &self.outgoing {
                let _ = to.send(self.alive); // a neighbour may have ended
            }
            let says_alive = |from: &&Receiver<bool>| from.recv() == Some(true);
            let neighbours = self.incoming.iter().filter(says_alive).count();
            self.alive = neighbours == 3 || self.alive && neighbours == 2;
        }
    }
}

fn main() {
    let (mut cells, mut board) = (vec![], vec![]);
    for alive in START.iter().flat_map(|row| row.chars()).map(|c| c == '#') {
        let (show, look) = chan(0);
        cells.push(Cell {
            alive,
            incoming: vec![],
            outgoing: vec![],
            show,
        });
        board.push(look);
    }
    for place in 0..SIZE * SIZE {
        for (down, right) in AROUND {
            let (y, x) = ((place / SIZE + down) % SIZE, (place % SIZE + right) % SIZE);
            let (to, from) = chan(1);
            cells[place].outgoing.push(to);
            cells[y * SIZE + x].incoming.push(from);
        }
    }
    cells.into_iter().for_each(|cell| go(move || cell.live()));

    for generation in 0..=GENERATIONS {
        let look = |cell: &Receiver<bool>| if cell.recv() == Some(true) { '#' } else { '.' };
        let rows: Vec<String> = board
            .chunks(SIZE)
            .map(|row| row.iter().map(look).collect())
            .collect();
        if generation % 3 == 0 {
            println!("generation {generation}\n{}", rows.join("\n"));
        }
    }
}

//! Two walkers compare binary trees in step, and stop at the first difference.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

type Tree = Option<Box<Node>>;

struct Node {
    left: Tree,
    right: Tree,
    value: u32,
}

fn insert(tree: &mut Tree, value: u32) {
    match tree {
        None => {
            *tree = Some(Box::new(Node {
                left: None,
                right: None,
                value,
            }))
        }
        Some(node) if value < node.value => insert(&mut node.left, value),
        Some(node) => insert(&mut node.right, value),
    }
}

/// Stops when nobody is left to receive.
fn walk(tree: &Tree, out: &Sender<u32>) -> Result<(), SendError<u32>> {
    let Some(node) = tree else { return Ok(()) };
    walk(&node.left, out)?;
    out.send(node.value)?;
    walk(&node.right, out)
}

fn values(tree: &Arc<Tree>) -> Receiver<u32> {
    let (out, rx) = chan(0);
    let tree = tree.clone();
    go(move || walk(&tree, &out).unwrap_or_default());
    rx
}

/// Whether the trees hold the same values, and how many it looked at.
fn same(a: Arc<Tree>, b: Arc<Tree>) -> (bool, u32) {
    let (va, vb) = (values(&a), values(&b));
    for n in 0.. {
        match (va.recv(), vb.recv()) {
            (None, None) => return (true, n),
            (x, y) if x != y => return (false, n),
            _ => {}
        }
    }
    unreachable!()
}

fn build(n: u32, step: u32, extra: u32) -> Arc<Tree> {
    let mut tree = None;
    for i in 0..n {
        insert(&mut tree, i * step % n);
    }
    insert(&mut tree, extra);
    Arc::new(tree)
}

fn main() {
    let show = |(same, n): (bool, u32)| println!("{same} {n}");
    show(same(build(100, 7, 40), build(100, 33, 40)));
    show(same(build(100, 7, 40), build(100, 33, 41)));
    show(same(build(100, 7, 99), build(99, 2, 98)));
    show(same(Arc::new(None), Arc::new(None)));
}

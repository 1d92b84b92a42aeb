use super::*;
use crate::limits::Job;

/// A table of so many, and what it counts for.
fn table(limit: usize) -> (Handles, Stop, Arc<Account>) {
    let account = Account::new(1 << 20, Job::new(), |_| true);
    (Handles::new(limit, account.clone()), Stop::new(), account)
}

#[test]
fn numbers_are_the_lowest_that_are_free() {
    let (handles, stop, _) = table(4);
    for n in 0..4 {
        assert_eq!(handles.insert(Object::Null), Ok(n));
    }
    assert_eq!(handles.insert(Object::Null), Err(Error::Limit));
    assert_eq!(handles.close(2, &stop), Ok(()));
    assert_eq!(handles.close(0, &stop), Ok(()));
    assert_eq!(handles.duplicate(1), Ok(0));
    assert_eq!(handles.insert(Object::Null), Ok(2));
    assert_eq!(handles.count(), 4);
}

#[test]
fn what_is_no_handle() {
    let (handles, stop, _) = table(4);
    handles.insert_as(2, Object::Null).unwrap();
    assert_eq!(handles.insert_as(2, Object::Null), Err(Error::BadArgument));
    assert_eq!(handles.insert_as(4, Object::Null), Err(Error::Limit));
    for none in [0, 1, 3, 4, 1 << 32, u64::MAX] {
        assert!(handles.get(none).is_err(), "{none}");
        assert_eq!(handles.close(none, &stop), Err(Error::BadHandle));
        assert_eq!(handles.duplicate(none), Err(Error::BadHandle));
    }
    assert!(handles.get(2).is_ok());
}

#[test]
fn two_or_none() {
    let (handles, stop, account) = table(2);
    let two = || {
        Ok::<_, Error>(
            handles
                .make([Object::Null, Object::Null])?
                .map(|m| m.number),
        )
    };
    assert_eq!(two(), Ok([0, 1]));
    handles.close(0, &stop).unwrap();
    assert_eq!(two(), Err(Error::Limit));
    assert_eq!(handles.count(), 1);
    assert_eq!(account.used_bytes(), HANDLE_BYTES);
}

#[test]
fn nothing_comes_after_the_end() {
    let (handles, stop, account) = table(4);
    handles.insert(Object::Null).unwrap();
    assert_eq!(account.used_bytes(), HANDLE_BYTES);
    assert_eq!(handles.take_all().len(), 1);
    assert_eq!(account.used_bytes(), 0);
    assert_eq!(handles.insert(Object::Null), Err(Error::Killed));
    assert_eq!(handles.close(0, &stop), Err(Error::BadHandle));
    assert_eq!(handles.count(), 0);
}

/// A number that was guessed, closed, and given to another handle is not taken back with the first.
#[test]
fn only_what_was_made_is_taken_back() {
    let (handles, stop, _) = table(4);
    let [a, b] = handles.make([Object::Null, Object::Null]).unwrap();
    handles.close(0, &stop).unwrap();
    assert_eq!(handles.insert(Object::Output { errors: true }), Ok(0));
    handles.unmake(&a, &stop);
    handles.unmake(&b, &stop);
    handles.unmake(&b, &stop); // nothing
    assert!(matches!(
        handles.get(0).unwrap().object,
        Object::Output { errors: true }
    ));
    assert_eq!(handles.count(), 1);
}

/// What only handles keep alive is less than what they count for.
#[test]
fn a_handle_counts_for_what_it_keeps() {
    use crate::account::heap_bytes;
    let arc = |bytes| heap_bytes(bytes + 2 * size_of::<usize>());
    let entry = arc(size_of::<Entry>());
    let process = arc(size_of::<crate::process::Process>()) + heap_bytes(256); // its name
    let file = arc(size_of::<crate::object::file::File>()) + arc(64);
    assert!(
        entry + process.max(file) <= HANDLE_BYTES,
        "{process} {file}"
    );
    assert!(entry + crate::object::channel::END_BYTES <= HANDLE_BYTES);
}

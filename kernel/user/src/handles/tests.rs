use super::*;

#[test]
fn numbers_are_the_lowest_that_are_free() {
    let (handles, stop) = (Handles::new(4), Stop::new());
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
    let (handles, stop) = (Handles::new(4), Stop::new());
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
    let (handles, stop) = (Handles::new(2), Stop::new());
    let two = || handles.insert_two([Object::Null, Object::Null], &stop);
    assert_eq!(two(), Ok([0, 1]));
    handles.close(0, &stop).unwrap();
    assert_eq!(two(), Err(Error::Limit));
    assert_eq!(handles.count(), 1);
}

#[test]
fn nothing_comes_after_the_end() {
    let (handles, stop) = (Handles::new(4), Stop::new());
    handles.insert(Object::Null).unwrap();
    assert_eq!(handles.take_all().len(), 1);
    assert_eq!(handles.insert(Object::Null), Err(Error::Killed));
    assert_eq!(handles.close(0, &stop), Err(Error::BadHandle));
    assert_eq!(handles.count(), 0);
}

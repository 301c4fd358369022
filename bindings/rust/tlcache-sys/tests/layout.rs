// SPDX-License-Identifier: MIT
//! The declarations against the library that is running, and against abi.json.
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tlcache_sys as sys;

fn abi() -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/abi/abi.json");
    if !path.exists() {
        eprintln!("skipped: {} is only in the repository", path.display());
        return None;
    }
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

#[test]
fn the_running_library_has_this_layout_and_these_constants() {
    assert_eq!(sys::layout_differences(), Vec::<String>::new());
    assert_eq!(sys::constant_differences(), Vec::<String>::new());
    // SAFETY: takes nothing.
    let version = unsafe { sys::tlc_abi_version() };
    assert_eq!(version >> 16, sys::TLC_ABI_MAJOR);
    assert!(version & 0xffff >= sys::TLC_ABI_MINOR);
}

#[test]
fn every_struct_and_member_is_where_abi_json_says() {
    let abi = match abi() {
        Some(abi) => abi,
        None => return,
    };
    let ours: BTreeMap<(String, String), (u64, u64)> = sys::layout()
        .into_iter()
        .map(|p| ((p.name.to_owned(), p.member.unwrap_or("").to_owned()), (p.offset as u64, p.size as u64)))
        .collect();
    let mut theirs = BTreeMap::new();
    for s in abi["structs"].as_array().unwrap() {
        let name = s["name"].as_str().unwrap().to_owned();
        theirs.insert((name.clone(), String::new()), (0, s["size"].as_u64().unwrap()));
        for m in s["members"].as_array().unwrap() {
            let member = m["name"].as_str().unwrap().to_owned();
            theirs.insert((name.clone(), member), (m["offset"].as_u64().unwrap(), m["size"].as_u64().unwrap()));
        }
    }
    assert_eq!(ours, theirs);
    assert!(ours.len() > 100);
}

#[test]
fn every_constant_has_the_value_abi_json_says() {
    let abi = match abi() {
        Some(abi) => abi,
        None => return,
    };
    let theirs: Vec<(String, i64)> = abi["constants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["name"].as_str().unwrap().to_owned(), c["value"].as_i64().unwrap()))
        .collect();
    let ours: Vec<(String, i64)> = sys::constants().iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn sizeof_stops_at_the_member_that_is_named() {
    assert_eq!(sys::TLC_SIZEOF!(sys::tlc_backend_ops, describe), sys::TLC_BACKEND_OPS_SIZE);
    assert_eq!(sys::TLC_SIZEOF!(sys::tlc_backend_ops, caps), sys::TLC_BACKEND_OPS_PREFIX);
    // Padding behind the last member does not count.
    assert_eq!(sys::TLC_SIZEOF!(sys::tlc_member, r#type), 44);
    assert_eq!(std::mem::size_of::<sys::tlc_member>(), 48);
}

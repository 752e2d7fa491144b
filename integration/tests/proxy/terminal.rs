//! The same in a pseudo-terminal, where Ctrl-C is a key.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, ensure};
use keyward_integration::paths;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::kit::Site;

pub(crate) fn the_level_is_back_after_ctrl_c(site: &Site) {
    let (_, before) = site.ask("GET", "/logging");
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
    let open = || File::options().read(true).write(true).open(&name).unwrap();
    // `setsid` makes the terminal that of the command, so that a key becomes a signal.
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", "--wait"])
        .arg(paths::keyward().unwrap())
        .args(["proxy", "logs", "-f"])
        .env("HOME", site.stack.folder())
        .env("KEYWARD_SERVER", format!("http://{}", site.stack.rest().address()))
        .env("KEYWARD_PROXY_ADMIN", format!("http://{}", site.stack.admin()));
    let mut child = command
        .stdin(Stdio::from(open()))
        .stdout(Stdio::from(open()))
        .stderr(Stdio::from(open()))
        .spawn()
        .unwrap();
    drop(command);
    let mut controller = File::from(controller);
    let said = Arc::new(Mutex::new(Vec::new()));
    let reading = {
        let (mut controller, said) = (controller.try_clone().unwrap(), Arc::clone(&said));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // At the end of the last process on it a terminal fails.
            while let Ok(count @ 1..) = controller.read(&mut buffer) {
                said.lock().unwrap().extend_from_slice(buffer.get(..count).unwrap_or_default());
            }
        })
    };
    let shown = || String::from_utf8_lossy(&said.lock().unwrap()).into_owned();
    site.soon("lines at debug", || {
        ensure!(site.level("upstream") == "debug");
        ensure!(shown().contains(" debug "), "{}", shown());
        Ok(())
    });
    controller.write_all(b"\x03").unwrap();
    let status = site.soon("Ctrl-C to end it", || child.try_wait()?.context("it runs"));
    reading.join().unwrap();
    assert_eq!(status.code(), Some(0), "{}", shown());
    assert!(shown().contains("the log level of the proxy is debug until this ends"), "{}", shown());
    site.becomes("/logging", &before);
}

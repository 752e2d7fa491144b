use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: ServeArgs,
}

fn decided(words: &[&str]) -> Result<Option<String>, String> {
    let args = Cli::try_parse_from(["serve"].iter().chain(words)).unwrap().args;
    folder(&args).map_err(|error| error.to_string())
}

#[test]
fn without_the_flag_there_is_none() {
    assert_eq!(decided(&[]), Ok(None));
}

#[test]
fn a_folder_of_its_own_is_taken_whether_it_is_there_or_not() {
    let here = tempfile::tempdir().unwrap();
    let text = here.path().to_str().unwrap().to_owned();
    let data = here.path().join("data").display().to_string();
    let files = format!("{text}/files");
    assert_eq!(decided(&["--data", &data, "--tls-files", &files]), Ok(Some(files.clone())));
    std::fs::create_dir(&files).unwrap();
    let slashes = format!("{text}//files/");
    assert_eq!(decided(&["--data", &data, "--tls-files", &slashes]), Ok(Some(files)));
    // It only begins alike.
    let beside = format!("{data}-of-others");
    assert_eq!(decided(&["--data", &data, "--tls-files", &beside]), Ok(Some(beside.clone())));
}

#[test]
fn what_holds_secrets_of_others_is_refused() {
    let here = tempfile::tempdir().unwrap();
    let text = here.path().to_str().unwrap();
    let (data, pki) = (format!("{text}/data"), format!("{text}/pki"));
    std::fs::create_dir(&data).unwrap();
    let link = format!("{text}/link");
    std::os::unix::fs::symlink(&data, &link).unwrap();
    let (inside, behind_link) = (format!("{data}/tls"), format!("{link}/tls"));
    for (folder, says) in [
        (data.as_str(), "the data folder"),
        (inside.as_str(), "the data folder"),
        (text, "the data folder"),
        (link.as_str(), "the data folder"),
        (behind_link.as_str(), "the data folder"),
        (pki.as_str(), "the PKI folder"),
        ("/", "is, has or lies in"),
        ("/proc", "a folder of the system"),
        ("/proc/self/fd", "a folder of the system"),
        ("/dev/shm", "a folder of the system"),
        ("/sys", "a folder of the system"),
        ("certs", "must be an absolute path"),
        ("/etc/../proc", "must be an absolute path"),
    ] {
        let refused = decided(&["--data", &data, "--pki", &pki, "--tls-files", folder]).unwrap_err();
        assert!(refused.contains(says), "{folder}: {refused}");
    }
}

//! Which access logs are written. A proxy writes with its own rights wherever it is told to: whoever may
//! write a Gateway must not choose among all files of its machine.

use keyward_resource::kinds::gateway::{AccessLog, Gateway, LogFormat};

use crate::input::Settings;

/// Where every process may write.
const STREAMS: [&str; 2] = ["/dev/stdout", "/dev/stderr"];

/// The logs of a gateway, of a default one without its object.
pub(super) fn of(gateway: Option<&Gateway>, settings: &Settings) -> Vec<AccessLog> {
    match gateway.and_then(|gateway| gateway.listener.access_logs.as_ref()) {
        Some(logs) => logs.iter().filter(|log| problem(log, settings).is_none()).cloned().collect(),
        // Whoever starts the server chooses freely.
        None => {
            let usual = |path: &String| AccessLog { path: path.clone(), format: LogFormat::Usual };
            settings.access_log.iter().map(usual).collect()
        }
    }
}

/// What is to be said of the logs of a gateway that are not written.
pub(super) fn problems(gateway: &Gateway, settings: &Settings) -> Vec<String> {
    let logs = gateway.listener.access_logs.iter().flatten().enumerate();
    let said = logs.filter_map(|(at, log)| {
        let problem = problem(log, settings)?;
        Some(format!("options.accessLoggingService.accessLog[{at}] is not written: {problem}"))
    });
    said.collect()
}

fn problem(AccessLog { path, .. }: &AccessLog, settings: &Settings) -> Option<String> {
    if STREAMS.contains(&path.as_str()) {
        return None;
    }
    let streams = STREAMS.join(" and ");
    match &settings.log_files {
        // Paths begin at the root and have no step back: their reader sees to that.
        Some(folder) if path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/')) => None,
        Some(folder) => Some(format!(
            "{path:?} is not below {folder:?}, the folder that --log-files names, and is none of {streams}"
        )),
        None => Some(format!(
            "files are not allowed here, only {streams}: `keyward serve --log-files DIR` names the folder in \
             which proxies may have them"
        )),
    }
}

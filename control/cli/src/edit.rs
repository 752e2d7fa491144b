//! `keyward edit`: an object in an editor.
//!
//! ```text
//! read ─▶ Sheet ─▶ editor ─▶ Sheet ─read▶ object ─▶ replace ─▶ done
//!           ▲                   │ mistakes          │ refused │ somebody was quicker
//!           └── with what is wrong on top ◀─────────┴─────────┤
//!                                                             └─ merge ─▶ replace again, or the editor
//! ```

mod merge;
mod scratch;
mod sheet;

use anyhow::{anyhow, bail};
use clap::Args;
use http::StatusCode;
use keyward_resource::{ApiStatus, Kind};
use serde_json::Value;

use self::merge::merge;
use self::scratch::{Leftover, Scratch};
use self::sheet::Sheet;
use crate::client::{Answer, ClientError, Manner, Place};
use crate::ended::Ended;
use crate::ends::{End, Ends};
use crate::kind::named;
use crate::output::Output;
use crate::remote::{Remote, RemoteArgs};
use crate::tidy::{content, is_of_folder, version};
use crate::wait::WaitArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward edit virtualservice shop
  KEYWARD_EDITOR='code --wait' keyward edit upstream petstore -n team

The editor is KEYWARD_EDITOR, VISUAL or EDITOR, else vi. Where the object has
mistakes, the editor opens again with all of them on top. Where somebody else
has changed it meanwhile, both changes are put together; where they are about
the same fields, the editor opens again and names them. Nothing that was
written is lost: where it cannot be saved, it stays in a file whose name is
told.

A Secret is shown with what it holds, in a file that only you can read, in
memory ($XDG_RUNTIME_DIR or /dev/shm) where that can be. It is removed however
the command ends, also where it cannot be saved, unless --keep says otherwise.

Exit codes: 0 edited or nothing changed, 1 not edited, 2 wrong usage, 3 edited
but not confirmed in time (--wait).";

/// How often it is tried again by itself when others are quicker.
const TRIES: usize = 10;

/// What is edited.
#[derive(Debug, Clone, Args)]
pub struct EditArgs {
    /// The kind, such as virtualservice or vs.
    #[arg(value_name = "KIND", value_parser = named)]
    kind: &'static Kind,

    /// The object.
    #[arg(value_name = "NAME", conflicts_with = "name_flag")]
    name: Option<String>,

    /// The same, as a flag.
    #[arg(long = "name", id = "name_flag", value_name = "NAME", hide = true)]
    name_flag: Option<String>,

    /// Leaves what you have written of a Secret in a file where it cannot be saved; of other kinds it always is.
    #[arg(long)]
    keep: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// An object while it is edited.
struct Edit<'a> {
    remote: &'a Remote,
    place: &'a Place,
    manner: Manner,
    /// What people wrote of it, as it was when the edit began.
    base: Value,
    version: Value,
}

/// What came of writing it.
enum Written {
    Done(Box<Answer>),
    /// It can be mended in the editor.
    Wrong(Vec<String>),
    /// It cannot.
    Failed(anyhow::Error),
}

pub(super) async fn run(args: &EditArgs, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    if args.kind.is_written_by_server() {
        bail!(ApiStatus::written_by_server(args.kind).message);
    }
    let Some(name) = args.name.as_ref().or(args.name_flag.as_ref()) else {
        let Kind { singular, plural, .. } = args.kind;
        let usage = format!("keyward edit {singular} NAME");
        let hint = format!("`keyward get {plural}` lists them; for example: keyward edit {singular} shop");
        return Err(Ended::with(2, anyhow!("say which {}: {usage}\nhint: {hint}", args.kind.name)));
    };
    let place = remote.place_of(args.kind, name);
    let object = remote.object(&place).await?;
    if is_of_folder(&object) {
        bail!(
            "{} {place} comes from a folder of files, which would put back what is changed here\nhint: change \
             it in its file",
            args.kind.name
        );
    }
    let manner = Manner { dry_run: false, wait: args.wait.limit() };
    let version = version(&object);
    let mut edit = Edit { remote: &remote, place: &place, manner, base: content(object), version };
    let is_secret = args.kind.name == "Secret";
    let leftover = if is_secret && !args.keep { Leftover::Removed } else { Leftover::Kept };
    // From here on nothing ends this process before the file is gone.
    let mut ends = Ends::new()?;
    let mut scratch = Scratch::new(args.kind.singular, name, leftover)?;
    let original = Sheet::of(&edit.base)?;
    let mut sheet = original.clone();
    let mut notes = Vec::new();
    loop {
        let text = scratch.edit(&sheet.text(args.kind, &place, &notes), &mut ends).await?;
        let edited = Sheet::read(&text);
        if edited.is_empty() || edited == original {
            return cancelled(output);
        }
        if edited == sheet && !notes.is_empty() {
            let why = anyhow!("nothing was mended: {}", notes.join("; "));
            return Err(scratch.kept(why));
        }
        sheet = edited;
        notes = match sheet.object(&place) {
            Err(mistakes) => mistakes,
            Ok(object) if object == edit.base => return cancelled(output),
            Ok(object) => match until(&mut ends, edit.write(object, output)).await {
                Err(end) => return Err(scratch.ended(end)),
                Ok(Written::Done(answer)) => {
                    drop(scratch);
                    output.data(format_args!("{}/{name} edited", args.kind.singular))?;
                    return Ok(args.wait.tell(&answer, output)?);
                }
                Ok(Written::Wrong(mistakes)) => mistakes,
                Ok(Written::Failed(error)) => return Err(scratch.kept(error)),
            },
        };
    }
}

/// Does something unless this is to end before it is done. Ctrl-C while the editor had the terminal was for that.
async fn until<T>(ends: &mut Ends, what: impl Future<Output = T>) -> Result<T, End> {
    ends.forget_interrupt().await;
    tokio::select! {
        done = what => Ok(done),
        end = ends.any() => Err(end),
    }
}

fn cancelled(output: &mut Output) -> anyhow::Result<()> {
    output.note("Edit cancelled, no changes made.");
    Ok(())
}

// === impl Edit ===

impl Edit<'_> {
    /// Writes it over what is there; puts it together with what others have changed since.
    async fn write(&mut self, mut mine: Value, output: &mut Output) -> Written {
        for _ in 0..TRIES {
            let mut wanted = mine.clone();
            wanted["metadata"]["resourceVersion"] = self.version.clone();
            match self.remote.client.replace(&self.place.path(), &wanted, self.manner).await {
                Ok(answer) => return Written::Done(Box::new(answer)),
                Err(error) if error.is_conflict() => {}
                Err(ClientError::Refused { refusal, .. })
                    if matches!(refusal.code, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY) =>
                {
                    return Written::Wrong(vec![refusal.message]);
                }
                Err(error) if error.is_not_found() => {
                    return Written::Failed(anyhow!("somebody has deleted it meanwhile"));
                }
                Err(error) => return Written::Failed(error.into()),
            }
            let theirs = match self.remote.object(self.place).await {
                Ok(theirs) => theirs,
                Err(error) => return Written::Failed(error),
            };
            self.version = version(&theirs);
            let theirs = content(theirs);
            let base = std::mem::replace(&mut self.base, theirs.clone());
            match merge(&base, mine, theirs) {
                Ok(both) => {
                    output.note("somebody else has changed it meanwhile: both changes are in it now");
                    mine = both;
                }
                Err(fields) => {
                    let fields = fields.join(", ");
                    return Written::Wrong(vec![format!(
                        "somebody else has changed {fields} meanwhile, and so have you; what you have written \
                         stands below: change anything (a comment will do) and save, and it replaces theirs"
                    )]);
                }
            }
        }
        Written::Failed(anyhow!("somebody else changes it all the time"))
    }
}

//! Port 19000, the admin of the gateway proxy, and `keyward proxy`, which uses it: on the real Envoy. All of it
//! on one stack, as a start takes seconds.

mod admin;
mod ends;
mod kit;
mod lives;
mod secrecy;
mod standing;
mod terminal;
mod verbs;

use kit::Site;

#[test]
fn the_admin_of_the_proxy_and_the_commands_that_use_it() {
    let mut site = Site::start();
    admin::the_rows_of_the_table(&site);
    admin::mistakes_get_the_answers_of_envoy(&site);
    admin::pages_from_elsewhere_are_refused(&site);
    secrecy::no_level_lets_a_key_into_the_log(&site);
    secrecy::a_logger_that_writes_requests_writes_to_the_file_alone(&site);
    secrecy::nothing_that_is_shown_holds_a_key(&site);
    admin::logs_are_read_over_rest(&site);
    verbs::each_verb_says_what_it_should(&site);
    verbs::what_differs_is_told(&site);
    verbs::mistakes_say_what_to_do(&site);
    ends::the_level_is_back_however_it_ends(&site);
    terminal::the_level_is_back_after_ctrl_c(&site);
    lives::a_server_that_died_is_followed_by_one_that_adopts_the_proxy(&mut site);
    lives::a_read_only_port_changes_nothing(&site);
    lives::who_is_on_the_port_of_before_is_replaced(&mut site);
    lives::a_taken_port_ends_the_start(&site);
    lives::where_there_are_tokens_they_are_asked_for(&site);
}

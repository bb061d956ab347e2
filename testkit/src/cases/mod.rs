//! The list of all cases, and a file for each behaviour.
#![deny(dead_code)] // a case that is not in the list must not compile

mod attach;
mod close;
mod connect;
mod connect_fails;
mod connect_several;
mod connect_unix;
mod crowd;
mod detach;
mod duplex;
mod echo;
mod end;
pub(crate) mod hop;
mod kick;
mod listener;
mod memory;
mod pool;
mod pool_borrowing;
mod pool_faults;
mod pool_life;
mod pool_upstream;
mod reset;
mod runtime;
mod select;
mod server_admission;
mod server_cancel;
mod server_close;
mod server_crowd;
mod server_deadlines;
mod server_descriptors;
mod server_detach;
mod server_echo;
mod server_faults;
mod server_idle;
mod server_lessons;
mod server_life;
mod server_policies;
mod server_pool;
mod server_queue;
mod server_requests;
mod server_streams;
mod time;

use crate::harness::{Case, SocketBackend};

macro_rules! list {
    ($($file:ident: $($case:ident),+;)+) => {
        /// Every case. One that is not listed here is dead code, which does not compile.
        pub(crate) fn all<B: SocketBackend>() -> Vec<Case> {
            vec![$($(
                Case { name: concat!(stringify!($file), "::", stringify!($case)), run: $file::$case::<B> },
            )+)+]
        }
    };
}

list! {
    attach:
        of_a_blocking_descriptor,
        of_a_non_blocking_descriptor,
        of_a_descriptor_that_is_known_to_be_non_blocking;
    close:
        of_a_quiet_connection,
        with_a_receive_in_flight,
        with_a_wait_in_flight,
        with_a_send_in_flight,
        with_a_send_that_was_never_polled,
        with_both_in_flight,
        after_a_detach_was_given_up,
        that_was_given_up_is_resumed;
    connect:
        exchanges_bytes,
        many_at_once,
        half_closes_both_ways,
        closes_politely,
        as_streams,
        idle_and_looked_after_it_holds_no_buffer,
        is_closed_when_it_is_dropped,
        tells_both_addresses;
    connect_fails:
        where_nobody_listens,
        where_nobody_answers_within_the_deadline,
        given_up_at_any_moment_it_leaves_nothing,
        without_descriptors_and_succeeds_with_some,
        after_it_was_reset;
    connect_several:
        goes_on_at_once_when_one_is_refused,
        goes_on_when_one_does_not_answer,
        names_all_that_were_tried,
        without_addresses_it_fails,
        names_are_looked_up_without_blocking_the_core;
    connect_unix:
        exchanges_bytes,
        to_an_abstract_name,
        waits_without_a_buffer,
        where_no_file_is,
        waits_while_the_queue_is_full,
        gives_up_when_the_queue_stays_full;
    crowd:
        of_a_thousand_that_do_not_read_leaves_one_served;
    detach:
        at_a_quiet_point,
        with_a_receive_in_flight_that_gets_nothing,
        with_receives_in_flight_while_bytes_arrive,
        carries_unread_bytes,
        finishes_the_send_in_flight,
        against_a_full_send_buffer_is_given_up_and_resumed;
    duplex:
        receives_while_a_send_waits,
        of_the_tasks_that_wait_to_receive_the_last_is_woken,
        of_the_tasks_that_wait_to_flush_the_last_is_woken,
        a_send_on_top_of_another_panics,
        each_kind_of_bytes_is_sent;
    echo:
        of_1_byte,
        of_512_bytes,
        of_16_kib,
        of_1_mib,
        of_64_mib_streamed;
    end:
        is_reported_for_ever,
        of_the_peers_leaves_ours_open,
        of_ours_leaves_the_peers_open,
        of_ours_comes_while_a_receive_waits;
    hop:
        between_threads;
    kick:
        ends_a_receive_and_leaves_the_other_way_open,
        ends_a_wait_without_a_buffer,
        lasts_although_bytes_come_later,
        of_both_ways_ends_a_send;
    listener:
        accepts_every_connection_once,
        waits_again_when_its_queue_is_empty,
        gives_sockets_that_any_runtime_can_take,
        closes_while_it_waits,
        claims_its_address;
    memory:
        a_connection_that_waits_without_a_buffer_holds_none,
        what_is_lent_is_counted,
        a_thousand_loans_may_be_kept;
    pool:
        lends_what_came_back_and_makes_what_is_missing,
        who_waits_is_served_in_turn,
        one_return_wakes_one_waiter,
        one_that_gives_up_passes_its_turn_on,
        nobody_overtakes_who_was_woken,
        what_is_discarded_makes_room_for_who_waits,
        waiting_ends_with_the_timeout,
        only_so_many_may_wait,
        what_is_idle_can_be_had_without_a_wait,
        a_new_size_counts_at_once,
        those_that_are_not_to_be_kept_are_dropped,
        closing_tells_who_waits_and_waits_for_who_has_a_lease,
        of_a_thousand_that_give_up_at_any_moment_nothing_is_lost,
        impossible_sizes_are_named;
    pool_borrowing:
        an_idle_connection_of_another_core_is_used_and_goes_home,
        a_borrower_that_leaves_gives_back_what_it_has,
        an_acquire_that_is_given_up_costs_the_lender_nothing,
        all_together_never_have_more_than_the_sum;
    pool_faults:
        an_error_of_creation_comes_to_who_asked,
        a_panic_of_creation_or_a_check,
        a_panic_of_recycling,
        a_lease_that_a_panic_drops_is_not_used_again,
        a_panic_of_a_hook,
        an_acquire_that_is_given_up_in_creation_or_a_check,
        what_fails_its_check_is_replaced_by_another_idle_one_or_a_new_one,
        what_does_not_want_to_be_recycled_is_dropped;
    pool_life:
        the_least_idle_are_made_from_the_start_and_again,
        warming_up_waits_for_them_and_tells_why_it_cannot,
        never_more_are_made_than_there_is_room_for,
        those_that_are_idle_for_too_long_are_dropped_but_the_least,
        those_that_are_too_old_are_dropped_and_none_earlier_than_the_jitter,
        what_cannot_be_made_is_tried_again_less_and_less_often,
        closing_ends_what_is_being_made,
        hooks_see_everything_that_happens;
    pool_upstream:
        a_connection_whose_exchange_is_over_is_used_again,
        outbound_connection_returned_dirty,
        one_with_something_to_receive_is_not_used_again,
        one_that_its_peer_has_closed_is_not_lent_out,
        where_nobody_listens_the_error_names_the_address;
    reset:
        while_a_receive_waits,
        while_waiting_without_a_buffer,
        before_the_first_receive,
        before_the_connection_is_attached_and_closed,
        while_a_send_waits,
        while_both_directions_wait,
        after_our_half_close,
        after_the_peers_half_close,
        during_a_detach;
    runtime:
        runs_again_and_again_on_a_thread,
        runs_on_several_threads_at_once,
        names_the_driver_that_runs,
        pins_its_thread,
        refuses_a_core_that_is_not_there,
        starts_or_refuses_when_few_descriptors_are_left,
        runs_tasks_that_tasks_have_spawned,
        wakes_tasks_from_another_thread,
        wakes_a_thousand_tasks_at_once_from_another_thread,
        a_task_that_wakes_itself_starves_nobody;
    select:
        receives_dropped_while_bytes_arrive,
        waits_and_receives_dropped_in_turn;
    server_admission:
        a_full_server_rejects_until_it_has_room_again,
        one_that_leaves_makes_room_for_one,
        a_full_server_may_serve_over_its_limit,
        a_full_worker_hands_over_to_one_with_room,
        placed_evenly_few_connections_go_one_to_each_worker,
        placed_in_turn_each_worker_gets_as_many,
        placed_elsewhere_every_connection_is_handed_over,
        a_burst_of_many_short_connections_is_counted_exactly;
    server_cancel:
        receives_and_sends_that_are_given_up_lose_nothing,
        a_send_that_was_given_up_goes_on_during_the_next_receive;
    server_close:
        a_reply_arrives_although_input_was_left_unread,
        a_reply_arrives_although_the_client_goes_on_sending,
        a_reply_arrives_although_its_send_was_given_up,
        a_reply_arrives_during_a_shutdown,
        a_reply_arrives_during_a_shutdown_although_the_client_goes_on_sending,
        a_client_that_stays_does_not_hold_it_up_for_long,
        a_client_that_takes_nothing_does_not_hold_it_up_for_long,
        finishing_leaves_the_clients_way_open;
    server_crowd:
        a_slow_reader_is_not_read_from_for_ever,
        one_that_never_stops_does_not_starve_another,
        a_thousand_that_do_not_read_leave_one_served;
    server_deadlines:
        a_client_that_says_nothing_is_cut,
        a_client_that_falls_silent_is_cut_in_order,
        a_handler_that_works_is_not_idle,
        header_timeout_inert_without_a_timer,
        a_request_that_stops_half_way_is_cut,
        a_client_that_does_not_read_is_cut,
        a_client_that_reads_slowly_is_not_cut,
        the_longest_life_ends,
        a_connection_may_have_deadlines_of_its_own;
    server_descriptors:
        without_descriptors_clients_are_told_and_service_resumes;
    server_detach:
        it_comes_with_every_byte_and_works_elsewhere;
    server_echo:
        to_many_clients_at_once,
        of_connections_that_were_handed_over,
        on_every_address_of_a_server;
    server_faults:
        a_panic_costs_one_connection,
        a_panic_with_a_reply_on_its_way_costs_one_connection,
        a_panic_of_the_futures_drop_costs_one_connection,
        an_error_costs_one_connection,
        a_reset_of_the_peers_costs_one_connection,
        an_abort_ends_who_waits_for_something_else,
        an_abort_ends_a_send_that_nobody_reads;
    server_idle:
        after_a_second_no_connection_holds_a_buffer,
        connections_that_fall_asleep_and_wake_up_lose_nothing,
        connections_that_are_asleep_see_the_end;
    server_lessons:
        stale_close_accounting,
        decrement_before_the_handover_is_done,
        counted_at_start_not_at_pick,
        thread_local_cached_across_a_move,
        idle_keep_alive_blocks_the_drain;
    server_life:
        a_second_server_on_the_address_is_refused,
        of_two_addresses_one_of_which_is_taken_neither_is_listened_on,
        a_factory_that_panics_leaves_nothing_behind,
        without_descriptors_it_does_not_start,
        it_names_the_driver_that_runs,
        idle_connections_do_not_hold_up_a_shutdown,
        the_grace_period_ends_what_does_not_end_itself,
        whoever_is_in_the_accept_queue_at_a_shutdown_is_served,
        it_ends_while_clients_come_and_go,
        a_server_that_is_dropped_ends;
    server_pool:
        many_clients_share_few_connections_and_none_gets_anothers_answer,
        idle_connections_of_a_pool_do_not_hold_up_a_shutdown,
        leases_that_are_out_do_not_hold_up_an_abort,
        a_total_is_split_over_the_workers,
        a_server_without_clients_keeps_its_pool_fresh,
        a_pool_that_is_being_filled_does_not_hold_up_a_shutdown,
        a_factory_that_panics_after_it_has_made_a_pool_leaves_nothing;
    server_policies:
        a_refusal_in_words_always_arrives,
        a_refusal_may_be_a_reset,
        one_client_gets_no_more_than_its_part,
        open_sockets_are_bounded_whoever_waits,
        a_worker_that_panics_starts_again_and_loses_nobody_else,
        backlog_lost_at_stop;
    server_queue:
        first_come_first_served,
        a_permit_of_any_worker_serves_whoever_has_waited_longest,
        lost_wake_at_the_limit,
        the_deadline_passes_although_no_permit_is_ever_free,
        after_the_deadline_it_may_be_served_over_the_limit,
        a_full_queue_turns_away,
        who_leaves_while_waiting_is_forgotten_and_who_asked_keeps_the_place,
        a_paused_server_accepts_when_there_is_room,
        those_who_wait_at_a_shutdown_are_served,
        those_who_wait_at_an_abort_are_told,
        where_workers_claim_everybody_is_served,
        without_a_handoff_everybody_is_served_at_home,
        who_waits_takes_no_memory_for_what_it_sends;
    server_requests:
        all_clients_take_turns,
        a_handler_that_does_not_ask_is_told,
        one_handler_serves_both_scopes,
        a_request_without_a_permit_may_be_refused,
        a_request_that_waits_too_long_is_refused,
        a_request_may_be_served_over_the_limit,
        requests_that_are_given_up_lose_nothing,
        a_client_that_does_not_read_holds_no_permit,
        a_limit_that_finds_itself_rises_while_it_is_reached;
    server_streams:
        everything_comes_back_through_borrowed_buffers;
    time:
        sleepers_wake_in_order,
        a_dropped_sleep_holds_nothing_up;
}

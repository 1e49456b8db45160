-- What does not move although it should? Transactions that keep partitions from being written,
-- epochs that cannot go on, jobs that are paused or failed, and messages that are delivered again
-- and again.
create or replace view queen.stuck as
select s.kind, s.what, s.since, s.detail
from queen_store.stuck() s
order by s.since nulls first;

comment on view queen.stuck is
    'What does not move although it should, longest first; no row = nothing is known to be stuck.';
comment on column queen.stuck.kind is
    'transaction: holds partitions for over 10 s, so that pushes wait. epoch: cannot be filled, sealed or dropped, so no space comes back. job: paused, or its last run failed. message: delivered more than once, among the partitions that had waited longest when a walk came by.';
comment on column queen.stuck.what is 'Which one.';
comment on column queen.stuck.since is 'Since when; of a message when it was pushed; null = nobody knows.';
comment on column queen.stuck.detail is 'What is the matter with it.';

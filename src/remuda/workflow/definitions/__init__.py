"""Definitions: what is put once and run many times. Checked when they are put, versioned, deleted.

    names         what may be a name
    definition    the shape that all puts share: the same again is the old one
    plain         TaskDef, ExternalEventDef, WorkflowEventDef: one version, which never changes
    versioned     UserTaskDef and StructDef: a change is a new version
    wf_specs      WfSpec: major versions and revisions
    check_spec    what a WfSpec must be, with the place of every problem
    check_nodes   the same, node by node
    spinning      cycles that never wait
    typing        the type of an assignment, as far as it can be known before anything runs

Definitions are made in the partition `placement.DEFINITIONS`, and every other one is told: a run
finds all that it needs in its own partition. A version number is never given twice, also when the
definition was deleted in between.
"""

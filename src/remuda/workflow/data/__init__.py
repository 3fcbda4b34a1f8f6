"""Values and what a spec may do with them: all of it pure, and without state.

    sound          what no value may contain
    values         a VariableValue as Python data and back, as text, as a size
    types          what a TypeDefinition allows, and its name
    fill           a struct with its defaults and masks
    casts          from one type to another, asked for or not
    paths          JSONPath and LHPath: reading and writing inside a value
    inside         the same, for structs, arrays and maps
    comparisons    the comparators of conditions
    mutations      the operations of mutations and expressions
    formats        format strings
    assignments    a VariableAssignment, in a scope, as a value
    masks          what readers may not see

A value is never changed in place: every operation answers a new one. What cannot be done raises
`BadValue`, which the advance turns into the failure of a node.
"""

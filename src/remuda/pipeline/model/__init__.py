"""What a job is: plain data.

- `job`       the shapes, one struct for each kind of entry
- `predicates` conditions as users write them
- `graph`     a workflow read as a graph: order, roots, leaves, cycles
- `reading`   from Python, JSON or YAML, with every mistake of shape in one report
- `checks`    what the shapes cannot say: names that must exist, entries that need each other
- `problems`  a report that names the entry, the key, what was expected, and the nearest right name
"""

"""What both ends of a connection agree on: how errors travel, and how connections are set up.

May import `partition` and what is below it, and the generated messages in `v1`.
"""

"""The live service: models behind HTTP that learn every acknowledged event exactly once. See docs/serve.md.

problems, limits      what a client is told when something is wrong, and where the bounds are
spec                  what a model is created with
state                 a model with everything that a request changes: a function of the log alone
log, saved_state      the durable log, and the state in a file
writer, hosted        one thread per model: commit, learn, answer
service               all models of a folder
http                  routes
"""

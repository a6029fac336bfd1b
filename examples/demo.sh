#!/bin/sh
# What `make demo` runs: index the example vault, search it, look inside.
set -eu
vault=$(dirname "$0")/vault

say() { printf '\n\033[1m$ cutaway %s\033[0m\n' "$*"; }

say index examples/vault
cutaway index "$vault" --name bread

say search '"why does bread rise slowly in winter"' --limit 3
cutaway search "why does bread rise slowly in winter" --limit 3 --project bread

say inspect query '"does more salt make dough rise faster"' --explain --show-misses --limit 3
cutaway inspect query "does more salt make dough rise faster" --explain --show-misses --limit 3 --project bread

say inspect chunks '"Salt and fermentation"'
cutaway inspect chunks "Salt and fermentation" --project bread

cat <<TEXT

That was the machine with its casing off. The index is in $CUTAWAY_HOME; your notes were only read.
Next, on your own notes (leave CUTAWAY_HOME unset to use the usual data folder):

    .venv/bin/cutaway index PATH/TO/YOUR/NOTES
    .venv/bin/cutaway search "what you are looking for"
    .venv/bin/cutaway inspect query "what you are looking for" --explain --show-misses
    .venv/bin/cutaway doctor
TEXT

# configurations.sh: every configuration of every description in models/ is planned as it stands.
lathe=${LATHE:-build/lathe}
bad=0 planned=0
for model in models/*.lua; do
    known=$("$lathe" check "$model" --config '?' 2>&1 | sed -n 's/.*known are //p')
    for config in '' $(printf '%s' "$known" | tr ',' ' '); do
        planned=$((planned + 1))
        # shellcheck disable=SC2086
        said=$("$lathe" plan "$model" ${config:+--config $config} 2>&1 >/dev/null) || { bad=1; printf '%s %s: %s\n' "$model" "$config" "$said"; }
    done
done
[ "$planned" -ge 69 ] || { bad=1; echo "only $planned configurations were found"; }
exit $bad

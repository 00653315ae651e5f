import type { ComponentChildren } from "preact";

/** A column's heading. `number`: to the right; `hidden`: for screen readers alone. */
export interface Column {
  name: string;
  kind?: "number" | "hidden";
}

/** A table of its own scrollable place. `children` are its rows, `after` follows it. */
export function DataTable(props: {
  label: string;
  columns: Column[];
  children: ComponentChildren;
  after?: ComponentChildren;
}) {
  return (
    <section class="table" aria-label={props.label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {props.columns.map(({ name, kind }) => (
              <th key={name} scope="col" class={kind === "number" ? "number" : undefined}>
                {kind === "hidden" ? <span class="hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
      {props.after}
    </section>
  );
}

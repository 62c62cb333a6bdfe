import { Button } from '@mantine/core';
import { type LucideIcon, Plus, SearchX } from 'lucide-react';
import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import type { Role } from '../../session/roles.ts';
import { type Column, type RowMarks, searchRows } from './columns.ts';
import { EmptyState } from '../EmptyState.tsx';
import { ErrorState } from '../ErrorState.tsx';
import { Loading } from '../Loading.tsx';
import { PlainTable } from './PlainTable.tsx';
import { ProblemNotice } from '../forms/ProblemNotice.tsx';
import { RoleButton } from '../RoleButton.tsx';
import { SearchField } from './SearchField.tsx';
import { VirtualTable } from './VirtualTable.tsx';

/** The part that the list reads of a query; the last three of one that has pages. */
export interface ListQuery {
  readonly error: Error | null;
  refetch(): unknown;
  readonly hasNextPage?: boolean;
  readonly isFetchingNextPage?: boolean;
  fetchNextPage?(): unknown;
}

interface Words {
  readonly title: string;
  readonly text: string;
}

export interface ListPanelProps<Row> {
  readonly title: string;
  /** The title is shown, and not only read out. */
  readonly isHeaded?: boolean;
  readonly lead?: string;
  /** Absent where the page has the rows already. */
  readonly query?: ListQuery;
  readonly rows: readonly Row[] | undefined;
  /** How many there are without the filter of the page; its default is the length of `rows`. */
  readonly total?: number;
  readonly search?: { readonly label: string; fieldsOf(row: Row): readonly string[] };
  /** Fields that stand beside the search, or below the title: fields by which the page filters, a sentence. */
  readonly filter?: ReactNode;
  /** Hides the filter when there are no rows. */
  readonly hidesEmptyTools?: boolean;
  /** A button that opens the form of a new row, above the rows. */
  readonly add?: {
    readonly label: string;
    readonly icon?: LucideIcon;
    readonly needs?: Role;
    form(close: () => void): ReactNode;
  };
  /** Other buttons instead. */
  readonly actions?: ReactNode;
  /** The part that stands below the title, above the rows: a form, a notice. */
  readonly above?: ReactNode;
  /** Why a write on a row was refused. */
  readonly error?: Error | null;
  /** Absent where a page without rows shows no list. */
  readonly empty?: Words & { readonly icon: LucideIcon };
  /** When a filter leaves no row. */
  readonly none?: Words & { readonly icon?: LucideIcon };
  readonly waitingRows?: number;
  /** Other rows are on their way. */
  readonly isBusy?: boolean;
  /** The button that reads the next page. */
  readonly older?: string;
  readonly columns?: readonly Column<Row>[];
  /** With it only the rows in view are rendered, in a table of at least this width in pixels. */
  readonly minWidth?: number;
  readonly scrollLabel?: string;
  /** Below the rows, for instance how many are shown. */
  foot?(shown: number, total: number): ReactNode;
  keyOf?(row: Row): string | number;
  marksOf?(row: Row): RowMarks;
  detailOf?(row: Row): ReactNode;
  /** The rows where they are no table. */
  readonly children?: (rows: readonly Row[]) => ReactNode;
}

/** A list of the page: its title, filter and actions, its four states, and its rows as a table or by `children`. */
export function ListPanel<Row>(props: ListPanelProps<Row>) {
  const { title, query, search, add, above, older, foot, minWidth } = props;
  const [isAdding, setAdding] = useState(false);
  const [typed, setTyped] = useState('');
  const wanted = useDeferredValue(typed);
  const fieldsOf = search?.fieldsOf;
  const shown = useMemo(
    () => (fieldsOf === undefined ? props.rows : searchRows(props.rows ?? [], wanted, fieldsOf)),
    [props.rows, wanted, fieldsOf],
  );
  const total = props.total ?? props.rows?.length ?? 0;
  const hasRows = props.rows !== undefined && total > 0;
  return (
    <section
      className={minWidth === undefined ? 'card' : 'card grid'}
      aria-label={title}
      aria-busy={props.isBusy}
    >
      {(hasRows || props.hidesEmptyTools !== true) && (
        <Head {...props} typed={typed} onTyped={setTyped} onAdd={() => setAdding(true)} />
      )}
      {isAdding && add?.form(() => setAdding(false))}
      {above}
      <Rows {...props} shown={props.rows && shown} total={total} />
      {hasRows && foot !== undefined && (
        <div className="grid-foot" role="status">
          {foot(shown?.length ?? 0, total)}
        </div>
      )}
      {query?.hasNextPage === true && (
        <div className="row card-pad">
          <Button
            variant="default"
            loading={query.isFetchingNextPage === true}
            onClick={() => void query.fetchNextPage?.()}
          >
            {older}
          </Button>
        </div>
      )}
    </section>
  );
}

interface HeadProps<Row> extends ListPanelProps<Row> {
  readonly typed: string;
  onTyped(typed: string): void;
  onAdd(): void;
}

function Head<Row>(props: HeadProps<Row>) {
  const {
    title,
    isHeaded = false,
    lead,
    search,
    filter,
    add,
    error = null,
    typed,
    onTyped,
  } = props;
  const Icon = add?.icon ?? Plus;
  const actions =
    add === undefined ? (
      props.actions
    ) : (
      <RoleButton
        {...(add.needs && { needs: add.needs })}
        variant={isHeaded ? 'default' : 'filled'}
        leftSection={<Icon size={15} aria-hidden="true" />}
        onClick={props.onAdd}
      >
        {add.label}
      </RoleButton>
    );
  const atEnd = actions !== undefined && <div className="row-end">{actions}</div>;
  if (isHeaded) {
    return (
      <div className="card-pad">
        <div className="row">
          <h2 className="flat">{title}</h2>
          {atEnd}
        </div>
        {lead !== undefined && <p className="dim flat">{lead}</p>}
        {filter !== undefined && <div className="below">{filter}</div>}
        <ProblemNotice error={error} />
      </div>
    );
  }
  return (
    <>
      {(search ?? filter ?? lead ?? actions) !== undefined && (
        <div className="tools card-pad">
          {lead !== undefined && <p className="dim flat grow-text">{lead}</p>}
          {search !== undefined && (
            <SearchField label={search.label} value={typed} onChange={onTyped} />
          )}
          {filter}
          {atEnd}
        </div>
      )}
      {error !== null && (
        <div className="panel">
          <ProblemNotice error={error} />
        </div>
      )}
    </>
  );
}

interface RowsProps<Row> extends ListPanelProps<Row> {
  readonly shown: readonly Row[] | undefined;
  readonly total: number;
}

function Rows<Row>(props: RowsProps<Row>) {
  const { title, query, shown, total, empty, none = empty, waitingRows, columns, keyOf } = props;
  if (shown === undefined) {
    const error = query?.error ?? null;
    if (error === null) return <Loading rows={waitingRows ?? 6} />;
    return <ErrorState error={error} onRetry={() => void query?.refetch()} />;
  }
  if (total === 0) return empty && <EmptyState {...empty} />;
  if (shown.length === 0) return none && <EmptyState icon={SearchX} {...none} />;
  if (columns === undefined || keyOf === undefined) return props.children?.(shown);
  const { minWidth, marksOf, detailOf, scrollLabel } = props;
  const table = { columns, rows: shown, keyOf, ...(marksOf && { marksOf }) };
  if (minWidth !== undefined) return <VirtualTable {...table} label={title} minWidth={minWidth} />;
  return <PlainTable {...table} detailOf={detailOf} scrollLabel={scrollLabel} />;
}

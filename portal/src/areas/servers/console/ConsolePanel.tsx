import { useComputedColorScheme } from '@mantine/core';
import { ArrowDown, ArrowDownToLine, ArrowUp, SquareTerminal } from 'lucide-react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { CopyIcon } from '../../../components/CopyIcon.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { SearchField } from '../../../components/list/SearchField.tsx';
import { messages } from '../../../messages/index.ts';
import { CommandLine } from './CommandLine.tsx';
import { type ConsoleTerminal, createConsoleTerminal } from './console-terminal.ts';
import { type ConsoleStatus, useConsole } from './use-console.ts';

const text = messages.server.console;

interface Props {
  readonly uuid: string;
  /** The caller's own to the server. */
  readonly rights: readonly string[];
  readonly isBuilt: boolean;
  readonly isRunning: boolean;
}

export default function ConsolePanel(props: Props) {
  const isRefused = !props.rights.includes('control.console');
  return (
    <section className="card" aria-label={text.title}>
      {isRefused ? (
        <EmptyState icon={SquareTerminal} {...text.forMembers} />
      ) : (
        <Console {...props} />
      )}
    </section>
  );
}

/** Lines that the server wrote, as it writes it, and a line to type to it. */
function Console({ uuid, isBuilt, isRunning }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const terminal = useRef<ConsoleTerminal>(null);
  const scheme = useComputedColorScheme('light');
  const [wanted, setWanted] = useState('');
  const [found, setFound] = useState('');
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = createConsoleTerminal(host.current, {
      label: `${text.title}. ${text.keys}`,
      onFound: (at, all) => setFound(text.found(at, all)),
    });
    terminal.current = made;
    return () => {
      terminal.current = null;
      made.dispose();
    };
  }, [uuid]);
  useEffect(() => terminal.current?.setTheme(), [scheme]);
  const { status, readNow } = useConsole(
    uuid,
    useCallback(({ lines, isComplete }) => {
      terminal.current?.write(isComplete ? lines : [text.missing, ...lines]);
    }, []),
  );
  const find = (direction: 'typed' | 'next' | 'previous', value = wanted): void => {
    if (value === '') setFound('');
    terminal.current?.find(value, direction);
  };
  if (status instanceof Error) return <ErrorState error={status} />;
  return (
    <>
      <div className="tools card-pad">
        <SearchField
          label={text.search}
          value={wanted}
          onChange={(value) => {
            setWanted(value);
            find('typed', value);
          }}
          onEnter={(isBackwards) => find(isBackwards ? 'previous' : 'next')}
        />
        {wanted !== '' && (
          <>
            <span className="dim" role="status">
              {found}
            </span>
            <RoleIcon label={text.previous} onClick={() => find('previous')}>
              <ArrowUp size={16} />
            </RoleIcon>
            <RoleIcon label={text.next} onClick={() => find('next')}>
              <ArrowDown size={16} />
            </RoleIcon>
          </>
        )}
        <div className="row-end">
          <StatusPill status={status} isBuilt={isBuilt} />
          <CopyIcon label={text.copy} value={() => terminal.current?.text() ?? ''} />
          <RoleIcon label={text.newest} onClick={() => terminal.current?.toNewest()}>
            <ArrowDownToLine size={16} />
          </RoleIcon>
        </div>
      </div>
      <div className="console" ref={host} />
      <CommandLine uuid={uuid} isBuilt={isBuilt} isRunning={isRunning} onSent={readNow} />
    </>
  );
}

interface StatusProps {
  readonly status: Exclude<ConsoleStatus, Error>;
  readonly isBuilt: boolean;
}

function StatusPill({ status, isBuilt }: StatusProps) {
  if (!isBuilt) return <Pill tone="neutral">{text.notBuilt}</Pill>;
  if (status === 'live') return <Pill tone="ok">{text.live}</Pill>;
  return <Pill tone="warn">{status === 'silent' ? text.silent : text.loading}</Pill>;
}

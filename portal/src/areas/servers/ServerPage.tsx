import type { GameServerBuild, GameServerDetail } from '@portcullis/client/index.ts';
import { useParams } from '@tanstack/react-router';
import { lazy } from 'react';
import { Loaded } from '../../components/Loaded.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { TabShell } from '../../components/TabShell.tsx';
import { messages } from '../../messages/index.ts';
import { BuildPanel } from './BuildPanel.tsx';
import { placeOf } from './place.ts';
import { PowerButtons } from './PowerButtons.tsx';
import { useBuild, useServer } from './queries.ts';
import { ServerFacts } from './ServerFacts.tsx';
import { StatePill } from './StatePill.tsx';

const FilesPanel = lazy(() => import('./files/FilesPanel.tsx'));
const HistoryPanel = lazy(() => import('./history/HistoryPanel.tsx'));
const PortsPanel = lazy(() => import('./ports/PortsPanel.tsx'));
const ResourcesPanel = lazy(() => import('./history/ResourcesPanel.tsx'));
const PeoplePanel = lazy(() => import('./people/PeoplePanel.tsx'));
const ActivityPanel = lazy(() => import('./people/ActivityPanel.tsx'));
const SftpPanel = lazy(() => import('./sftp/SftpPanel.tsx'));
const SettingsPanel = lazy(() => import('./settings/SettingsPanel.tsx'));
const ConsolePanel = lazy(() => import('./console/ConsolePanel.tsx'));

const text = messages.server;
const ABOVE = { to: '/servers', title: messages.servers.title } as const;

export function ServerPage() {
  const { uuid } = useParams({ from: '/servers/$uuid' });
  const server = useServer(uuid);
  const build = useBuild(uuid);
  if (server.data !== undefined && build.data !== undefined) {
    return <Shown server={server.data} build={build.data} />;
  }
  const query = {
    data: undefined,
    error: server.error ?? build.error,
    refetch: () => Promise.all([server.refetch(), build.refetch()]),
  };
  return (
    <>
      <PageHeader title={messages.servers.title} above={ABOVE} />
      <Loaded query={query} rows={8} inCard>
        {() => null}
      </Loaded>
    </>
  );
}

interface Props {
  readonly server: GameServerDetail;
  readonly build: GameServerBuild['data'];
}

function Shown({ server, build }: Props) {
  const { uuid, name } = server;
  return (
    <>
      <PageHeader
        title={name}
        above={ABOVE}
        lead={
          <span className="row">
            <StatePill state={server.state} build_state={build.state} />
            <span className="mono">{placeOf(build.allocation)}</span>
          </span>
        }
      >
        <PowerButtons
          uuid={uuid}
          name={name}
          rights={build.rights}
          server={{
            state: server.state,
            isBuilt: server.provisioned,
            isSuspended: build.suspended,
            isNodeConnected: build.node_connected,
          }}
        />
      </PageHeader>
      <Problems server={server} build={build} />
      <ServerFacts server={server} />
      <TabShell
        path="/servers/$uuid"
        titles={text.tabs}
        panels={{
          console: (
            <ConsolePanel
              uuid={uuid}
              rights={build.rights}
              isBuilt={server.provisioned}
              isRunning={server.state === 'running'}
            />
          ),
          files: <FilesPanel uuid={uuid} rights={build.rights} isBuilt={server.provisioned} />,
          resources: <ResourcesPanel server={server} />,
          history: <HistoryPanel uuid={uuid} ip={build.allocation.ip} />,
          ports: <PortsPanel build={build} />,
          build: <BuildPanel server={server} build={build} />,
          sftp: <SftpPanel uuid={uuid} rights={build.rights} />,
          people: <PeoplePanel uuid={uuid} rights={build.rights} />,
          activity: <ActivityPanel uuid={uuid} rights={build.rights} />,
          settings: <SettingsPanel uuid={uuid} name={name} rights={build.rights} />,
        }}
      />
    </>
  );
}

/** The problem that keeps it from running, or from being known; the most certain one. */
function Problems({ server, build }: Props) {
  if (!build.node_connected) return <Notice kind="warn">{text.nodeAway(build.node)}</Notice>;
  if (build.state === 'failed') return <Notice kind="bad">{build.reason}</Notice>;
  return (
    <>
      {build.suspended && <Notice kind="warn">{text.suspended}</Notice>}
      {build.problem !== null && <Notice kind="warn">{build.problem}</Notice>}
      {server.provisioned && server.state === null && build.problem === null && (
        <Notice kind="warn">{text.unknown}</Notice>
      )}
    </>
  );
}

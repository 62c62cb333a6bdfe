import { Select, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { BookOpen, Keyboard, LogOut, Moon, Search, Sun } from 'lucide-react';
import { useAreas } from '../areas/index.ts';
import { messages } from '../messages/index.ts';
import { useSession } from '../session/session.ts';

const text = messages.shell;

interface Props {
  /** On a narrow screen, where it covers the page. */
  readonly isOpen: boolean;
  onPalette(): void;
  onHelp(): void;
  onVisit(): void;
}

export function Sidebar({ isOpen, onPalette, onHelp, onVisit }: Props) {
  const { signOut, person, organisation, changeOrganisation } = useSession();
  const areas = useAreas();
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  return (
    <aside className="side" data-open={isOpen ? '' : undefined}>
      <Link className="brand" to="/" onClick={onVisit}>
        <img src="/favicon.svg" alt="" />
        {messages.product}
      </Link>
      {person !== null && (
        <Select
          mb={8}
          aria-label={text.organisation}
          placeholder={text.noOrganisation}
          value={organisation}
          onChange={(slug) => slug !== null && changeOrganisation(slug)}
          data={person.organisations.map(({ slug, name }) => ({ value: slug, label: name }))}
        />
      )}
      {typeof person?.acting_for === 'string' && (
        <span className="pill warn">{text.actingFor(person.acting_for)}</span>
      )}
      <button type="button" className="side-search" onClick={onPalette}>
        <Search size={14} aria-hidden="true" />
        <span>{text.jump}</span>
        <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label={text.navigation}>
        {areas
          .filter(({ isInFoot }) => isInFoot !== true)
          .map(({ path, title, icon: Icon }) => (
            <Link key={path} to={path} className="nav-link" onClick={onVisit}>
              <Icon size={17} aria-hidden="true" />
              {title}
            </Link>
          ))}
      </nav>
      <div className="side-foot">
        {areas
          .filter(({ isInFoot }) => isInFoot === true)
          .map(({ path, title, icon: Icon }) => (
            <Link key={path} to={path} onClick={onVisit}>
              <Icon size={16} aria-hidden="true" />
              {title}
            </Link>
          ))}
        <a href="/docs">
          <BookOpen size={16} aria-hidden="true" />
          {text.reference}
        </a>
        <button type="button" className="keys-help" onClick={onHelp}>
          <Keyboard size={16} aria-hidden="true" />
          {text.keys}
        </button>
        <button type="button" onClick={() => setColorScheme(isDark ? 'light' : 'dark')}>
          {isDark ? <Sun size={16} aria-hidden="true" /> : <Moon size={16} aria-hidden="true" />}
          {isDark ? text.light : text.dark}
        </button>
        <button type="button" onClick={() => signOut()}>
          <LogOut size={16} aria-hidden="true" />
          {text.signOut}
        </button>
      </div>
    </aside>
  );
}

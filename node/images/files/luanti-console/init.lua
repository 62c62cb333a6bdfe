-- Takes the commands that serve-luanti puts into the world's folder, a file a line, oldest first, and runs them as
-- the server's owner (setting `name`). A line may begin with a slash; what is no command is said to all players.
local folder = minetest.get_worldpath() .. "/console"
local owner = minetest.settings:get("name") or "admin"
local INTERVAL_SECONDS = 0.2

local function say(text)
	-- Messages for players carry marks for their language.
	local plain = minetest.get_translated_string("", minetest.strip_colors(text))
	minetest.log("action", "[console] " .. plain)
end

-- The owner may do everything here, also before this player has ever logged in.
local function with_all_privileges(work)
	local real = minetest.get_player_privs
	minetest.get_player_privs = function(name)
		if name ~= owner then
			return real(name)
		end
		local all = {}
		for privilege in pairs(minetest.registered_privileges) do
			all[privilege] = true
		end
		return all
	end
	local worked, done, message = pcall(work)
	minetest.get_player_privs = real
	return worked, done, message
end

local function run(line)
	local name, parameters = line:match("^/?(%S+)%s*(.*)$")
	if name == nil then
		return
	end
	local command = minetest.registered_chatcommands[name]
	if command == nil then
		minetest.chat_send_all("<" .. owner .. "> " .. line)
		say("said to all: " .. line)
		return
	end
	local worked, done, message = with_all_privileges(function()
		return command.func(owner, parameters)
	end)
	if not worked then
		say(name .. " failed: " .. tostring(done))
	elseif message ~= nil then
		say(tostring(message))
	else
		say(name .. (done == false and ": not done" or ": done"))
	end
end

local function take()
	local names = minetest.get_dir_list(folder, false)
	table.sort(names)
	for _, name in ipairs(names) do
		local path = folder .. "/" .. name
		local file = io.open(path, "r")
		if file ~= nil then
			local line = file:read("*a")
			file:close()
			os.remove(path)
			run(line)
		end
	end
	minetest.after(INTERVAL_SECONDS, take)
end

minetest.after(0, take)

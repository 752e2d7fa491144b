# The editor of somebody who makes one mistake and then gives up.
[ -e made ] && exit 0
touch made
sed -i s/8083/808300/ "$1"

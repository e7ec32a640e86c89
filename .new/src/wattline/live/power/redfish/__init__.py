"""Power of a server over Redfish: the service, its two forms of resources, and the hardware made of them."""
